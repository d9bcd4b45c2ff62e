/**
 * Moves a large picture by moving what is drawn already: it is drawn anew when the hand rests or lets go.
 * A picture of thousands takes longer to draw than a frame may last where no graphics card helps.
 */
import type Sigma from "sigma";

/** So long the mouse or a key rests before the picture is drawn anew, in milliseconds. */
const REST_MS = 250;
/** Less than this is a click, in pixels. */
const CLICK = 4;

export class Pan {
  /** Whether it is in charge; else sigma moves the picture itself. */
  active = false;
  private held: { x: number; y: number; dx: number; dy: number } | null = null;
  /** How far keys have moved what is drawn. */
  private pushed = { dx: 0, dy: 0 };
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

  /** Move it by so many pixels, without a mouse; false where sigma is in charge. */
  push(dx: number, dy: number): boolean {
    if (!this.active) return false;
    if (this.held) return true;
    this.pushed = { dx: this.pushed.dx + dx, dy: this.pushed.dy + dy };
    this.show(this.pushed);
    // Beyond what is drawn there is nothing to be seen.
    const isFar = Math.abs(this.pushed.dx) > this.box.clientWidth / 2 || Math.abs(this.pushed.dy) > this.box.clientHeight / 2;
    if (isFar) this.settle();
    return true;
  }

  /** Draw where keys have moved it to, before something else moves it. */
  settle(): void {
    if (!this.pushed.dx && !this.pushed.dy) return;
    clearTimeout(this.timer);
    const { dx, dy } = this.pushed;
    this.pushed = { dx: 0, dy: 0 };
    this.look(dx, dy);
  }

  private grab = (event: MouseEvent) => {
    this.settle();
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
    this.show(this.held);
  };

  private show({ dx, dy }: { dx: number; dy: number }): void {
    this.box.style.setProperty("transform", `translate(${dx}px, ${dy}px)`);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => (this.held ? this.draw() : this.settle()), REST_MS);
  }

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
    this.held = { x: this.held.x + dx, y: this.held.y + dy, dx: 0, dy: 0 };
    this.look(dx, dy);
  };

  /** From so many pixels further on. */
  private look(dx: number, dy: number): void {
    const [zero, there] = [this.sigma.viewportToFramedGraph({ x: 0, y: 0 }), this.sigma.viewportToFramedGraph({ x: dx, y: dy })];
    const camera = this.sigma.getCamera();
    this.sigma.once("afterRender", () => this.box.style.removeProperty("transform"));
    camera.setState({ x: camera.x - (there.x - zero.x), y: camera.y - (there.y - zero.y) });
  }
}
