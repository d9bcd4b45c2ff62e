/**
 * Moves a large picture by moving what is drawn already: it is drawn anew when the mouse rests or lets go.
 * A picture of thousands takes longer to draw than a frame may last where no graphics card helps.
 */
import type Sigma from "sigma";

/** So long the mouse rests before the picture is drawn anew, in milliseconds. */
const REST_MS = 250;
/** Less than this is a click, in pixels. */
const CLICK = 4;

export class Pan {
  /** Whether it is in charge; else sigma moves the picture itself. */
  active = false;
  private held: { x: number; y: number; dx: number; dy: number } | null = null;
  private moved = false;
  private timer = 0;
  private readonly stop = new AbortController();

  constructor(private readonly sigma: Sigma, private readonly box: HTMLElement) {
    const { signal } = this.stop;
    const early = { capture: true, signal };
    box.addEventListener("mousedown", this.grab, early);
    // Before sigma hears of it: it would look what lies under the mouse, and draw.
    addEventListener("mousemove", this.pull, early);
    addEventListener("mouseup", this.release, early);
    addEventListener("click", this.swallow, early);
  }

  kill(): void {
    clearTimeout(this.timer);
    this.stop.abort();
  }

  private grab = (event: MouseEvent) => {
    this.moved = false;
    if (this.active && event.button === 0) this.held = { x: event.clientX, y: event.clientY, dx: 0, dy: 0 };
  };

  private pull = (event: MouseEvent) => {
    if (!this.held) return;
    event.stopImmediatePropagation();
    this.held.dx = event.clientX - this.held.x;
    this.held.dy = event.clientY - this.held.y;
    this.moved ||= Math.hypot(this.held.dx, this.held.dy) >= CLICK;
    if (!this.moved) return;
    this.box.style.setProperty("transform", `translate(${this.held.dx}px, ${this.held.dy}px)`);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(this.draw, REST_MS);
  };

  private release = () => {
    if (!this.held) return;
    if (this.moved) this.draw();
    this.held = null;
  };

  private swallow = (event: MouseEvent) => {
    if (!this.moved || !this.active) return;
    this.moved = false;
    event.stopImmediatePropagation();
  };

  private draw = () => {
    clearTimeout(this.timer);
    if (!this.held) return;
    const { dx, dy } = this.held;
    const [zero, there] = [this.sigma.viewportToFramedGraph({ x: 0, y: 0 }), this.sigma.viewportToFramedGraph({ x: dx, y: dy })];
    const camera = this.sigma.getCamera();
    this.held = { x: this.held.x + dx, y: this.held.y + dy, dx: 0, dy: 0 };
    this.sigma.once("afterRender", () => this.box.style.removeProperty("transform"));
    camera.setState({ x: camera.x - (there.x - zero.x), y: camera.y - (there.y - zero.y) });
  };
}
