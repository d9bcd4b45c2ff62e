/** The picture: sigma on a canvas. It knows nothing of the page but the box it fills and the tokens of its colours. */
import { DirectedGraph } from "graphology";
import Sigma from "sigma";
import { EdgeArrowProgram, EdgeDoubleArrowProgram, EdgeLineProgram, type EdgeLabelDrawingFunction, type NodeHoverDrawingFunction, type NodeLabelDrawingFunction } from "sigma/rendering";
import { tokenColor } from "../../lib/store";
import { layOut, type Places } from "./layout";
import { Pan } from "./pan";
import { TYPES, colorToken, relationWords, type Entity, type Net, type Relation } from "./model";

export interface Look {
  selected: string | null;
  /** Entities and relations of a way that is shown; null: none is. */
  way: { nodes: ReadonlySet<string>; edges: ReadonlySet<string> } | null;
}

export interface Events {
  onSelect: (id: string | null) => void;
  onExpand: (id: string) => void;
  onSettled: () => void;
}

/** Relations of two entities are one line. */
interface Line {
  relations: Relation[];
  both: boolean;
}

interface Spot {
  x: number;
  y: number;
  entity: Entity;
}

class Drawn extends DirectedGraph<Spot, { line: Line; strength: number }> {}

type Color = [number, number, number];
/** Left, right, top, bottom. */
type Box = readonly [number, number, number, number];

/** From here on a picture is drawn plainly, so that it moves. */
const MANY_LINES = 3_000;
const MANY_NODES = 1_500;
const LONGEST_LABEL = 26;
const LONGEST_WORDS = 44;
/** Where the words of a relation may stand, the best first: how far along its line, and beside it in halves of their width
 * and lines of text. */
const PLACES = [
  ...[0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74].map((share) => [share, 0, 0] as const),
  ...[1, 2].flatMap((far) => [0, 1, -1, 1.5, -1.5].flatMap((aside) => [[0.5, aside, -far], [0.5, aside, far]] as const)),
];
/** What is not meant is mixed so far with the ground. */
const DIM = 0.82;

const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Drawing {
  private graph = new Drawn();
  private readonly sigma: Sigma;
  private readonly pan: Pan;
  private readonly sized: ResizeObserver;
  private readonly places: Places = new Map();
  private net: Net | null = null;
  private look: Look = { selected: null, way: null };
  private near = new Set<string>();
  private colors = new Map<string, Color>();
  private ground: Color = [255, 255, 255];
  /** Where labels stand in this frame. */
  private taken: Box[] = [];
  private hoveredNode: string | null = null;
  private hoveredEdge: string | null = null;
  private stop = new AbortController();

  /** Fails where the browser has no WebGL. */
  constructor(private readonly box: HTMLElement, events: Events) {
    if (!document.createElement("canvas").getContext("webgl2")) throw new Error("no WebGL");
    this.sigma = new Sigma(this.graph as never, box, {
      allowInvalidContainer: true, zIndex: true, renderEdgeLabels: true,
      labelFont: getComputedStyle(document.body).fontFamily, labelSize: 12, labelWeight: "500",
      edgeLabelFont: getComputedStyle(document.body).fontFamily, edgeLabelSize: 11,
      labelDensity: 2, labelGridCellSize: 90, stagePadding: 44, minCameraRatio: 0.01, maxCameraRatio: 3,
      edgeProgramClasses: { arrow: EdgeArrowProgram, both: EdgeDoubleArrowProgram, line: EdgeLineProgram },
      nodeReducer: (id, data) => this.nodeLook(id, data as Spot),
      edgeReducer: (id, data) => this.edgeLook(id, data as { line: Line; strength: number }),
      defaultDrawNodeHover: this.drawHover, defaultDrawEdgeLabel: this.drawWords, defaultDrawNodeLabel: this.drawLabel,
    });
    this.sigma.on("beforeRender", () => (this.taken = []));
    this.sigma.on("clickNode", ({ node }) => events.onSelect(node));
    this.sigma.on("clickStage", () => events.onSelect(null));
    this.sigma.on("doubleClickNode", ({ node, preventSigmaDefault }) => {
      preventSigmaDefault();
      events.onExpand(node);
    });
    this.sigma.on("enterNode", ({ node, event }) => !dragging(event.original) && this.hover(node, null));
    this.sigma.on("leaveNode", () => this.hover(null, null));
    this.sigma.on("enterEdge", ({ edge, event }) => !dragging(event.original) && this.hover(null, edge));
    this.sigma.on("leaveEdge", () => this.hover(null, null));
    this.settled = events.onSettled;
    this.pan = new Pan(this.sigma, box);
    this.sized = new ResizeObserver(() => this.sigma.resize().scheduleRender());
    this.sized.observe(box);
    this.recolor();
  }

  private readonly settled: () => void;

  /** Draw this; what was there keeps its place. `anew`: nothing does. */
  async show(net: Net, { anew = false }: { anew?: boolean } = {}): Promise<void> {
    this.stop.abort();
    const stop = (this.stop = new AbortController());
    this.net = net;
    if (anew) this.places.clear();
    const lines = linesOf(net);
    const links = [...lines.values()].map(({ relations: [first] }) => [first!.source, first!.target] as const);
    const ids = [...net.nodes.keys()];
    const first = !this.graph.order || anew;
    // The first picture may be watched as it settles, unless nothing should move.
    const watched = first && !still.matches ? () => this.place(net, lines) : null;
    await layOut(ids, links, this.places, stop.signal, watched);
    if (stop.signal.aborted) return;
    this.place(net, lines);
    if (first) this.fit();
    this.settled();
  }

  private place(net: Net, lines: ReadonlyMap<string, Line>): void {
    // A new one: sigma follows every change of the one it shows, one by one.
    const graph = new Drawn();
    for (const entity of net.nodes.values()) graph.addNode(entity.id, { ...(this.places.get(entity.id) ?? { x: 0, y: 0 }), entity });
    for (const [id, line] of lines) {
      const strength = Math.max(...line.relations.map((each) => each.strength));
      const { source, target } = line.relations[0]!;
      graph.addEdgeWithKey(id, source, target, { line, strength });
    }
    this.graph = graph;
    this.remember();
    [this.hoveredNode, this.hoveredEdge] = [null, null];
    this.sigma.setGraph(graph as never);
    const many = graph.size > MANY_LINES;
    this.pan.active = many || graph.order > MANY_NODES;
    this.sigma.setSettings({
      enableEdgeEvents: graph.size <= MANY_LINES / 2, hideEdgesOnMove: graph.size > 2 * MANY_LINES,
      hideLabelsOnMove: graph.order > MANY_NODES, defaultEdgeType: many ? "line" : "arrow",
      labelDensity: graph.order > MANY_NODES ? 0.4 : 2, labelRenderedSizeThreshold: graph.order > MANY_NODES ? 2.5 : graph.order > 150 ? 5 : 0,
    });
  }

  setLook(look: Look): void {
    this.look = look;
    this.remember();
    this.sigma.refresh({ skipIndexation: true });
  }

  /** Whom the look is about. */
  private remember(): void {
    const { selected } = this.look;
    this.near = new Set(selected && this.graph.hasNode(selected) ? [selected, ...this.graph.neighbors(selected)] : []);
  }

  /** After the theme changed. */
  recolor(): void {
    this.colors = new Map(["--text", "--muted", "--accent", "--control-line", "--raised", ...TYPES.map(colorToken)].map((each) => [each, rgb(tokenColor(each))]));
    this.ground = rgb(tokenColor("--surface"));
    this.sigma.setSettings({ labelColor: { color: this.css("--text") }, edgeLabelColor: { color: this.css("--text") } });
    this.sigma.refresh({ skipIndexation: true });
  }

  /** Bring somebody into the middle. */
  center(id: string): void {
    const at = this.sigma.getNodeDisplayData(id);
    if (!at) return;
    this.pan.settle();
    const camera = this.sigma.getCamera();
    const ratio = Math.min(camera.ratio, this.graph.order > MANY_NODES ? 0.15 : 0.5);
    const state = { x: at.x, y: at.y, ratio };
    if (still.matches) camera.setState(state);
    else void camera.animate(state, { duration: 350 });
  }

  /** Whether somebody can be seen. */
  inSight(id: string): boolean {
    const at = this.sigma.getNodeDisplayData(id);
    if (!at) return true;
    const { x, y } = this.sigma.framedGraphToViewport(at);
    const { width, height } = this.sigma.getDimensions();
    return x >= 0 && y >= 0 && x <= width && y <= height;
  }

  /** Come so near that these fill the picture. */
  frame(ids: Iterable<string>): void {
    this.pan.settle();
    const all = [...ids].flatMap((each) => this.sigma.getNodeDisplayData(each) ?? []);
    if (!all.length) return;
    const [xs, ys] = [all.map((each) => each.x), all.map((each) => each.y)];
    const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const state = { x: (left + right) / 2, y: (low + high) / 2, ratio: Math.min(1, Math.max(0.25, 1.5 * Math.max(right - left, high - low))) };
    if (still.matches) this.sigma.getCamera().setState(state);
    else void this.sigma.getCamera().animate(state, { duration: 350 });
  }

  zoom(factor: number): void {
    this.pan.settle();
    const camera = this.sigma.getCamera();
    const ratio = camera.getBoundedRatio(camera.ratio / factor);
    if (still.matches) camera.setState({ ratio });
    else void camera.animate({ ratio }, { duration: 180 });
  }

  move(x: number, y: number): void {
    const camera = this.sigma.getCamera();
    const [dx, dy] = [x * camera.ratio, y * camera.ratio];
    const [zero, there] = [this.sigma.framedGraphToViewport({ x: 0, y: 0 }), this.sigma.framedGraphToViewport({ x: dx, y: dy })];
    if (!this.pan.push(zero.x - there.x, zero.y - there.y)) camera.setState({ x: camera.x + dx, y: camera.y + dy });
  }

  fit(): void {
    this.pan.settle();
    const state = { x: 0.5, y: 0.5, angle: 0, ratio: 1 };
    if (still.matches) this.sigma.getCamera().setState(state);
    else void this.sigma.getCamera().animate(state, { duration: 250 });
  }

  kill(): void {
    this.stop.abort();
    this.pan.kill();
    this.sized.disconnect();
    this.sigma.kill();
  }

  // What things look like

  private nodeLook(id: string, { x, y, entity }: Spot) {
    const { selected, way } = this.look;
    const meant = way ? way.nodes.has(id) : !selected || this.near.has(id);
    const many = this.graph.order > MANY_NODES;
    const size = (many ? 1.2 : 4) + (many ? 3.6 : 9) * entity.importance;
    const pale = 1 - (0.3 + 0.7 * Math.min(1, Math.max(0, entity.strength)));
    return {
      x, y, label: meant ? short(entity.name, LONGEST_LABEL) : "", color: this.mixed(colorToken(entity.type), meant ? pale : DIM),
      size: id === selected ? size + 2 : size, zIndex: meant ? 1 : 0, highlighted: id === selected,
      forceLabel: id === selected || Boolean(way && meant) || (selected !== null && meant && this.near.size < 40),
    };
  }

  private edgeLook(id: string, { line, strength }: { line: Line; strength: number }) {
    const { selected, way } = this.look;
    const ends = this.graph.extremities(id);
    const own = selected !== null && ends.includes(selected);
    const onWay = way ? line.relations.some((each) => way.edges.has(each.id)) : false;
    const meant = way ? onWay : selected === null || own;
    const hovered = id === this.hoveredEdge || (this.hoveredNode !== null && ends.includes(this.hoveredNode));
    const told = hovered || onWay || (!way && own && this.near.size < 30);
    const many = this.graph.size > MANY_LINES;
    const strong = hovered || onWay || (own && !way);
    return {
      color: strong ? this.mixed("--accent", 0.25) : this.mixed("--control-line", meant ? (many ? 0.72 : 0.35) + (1 - strength) * 0.3 : 0.86),
      size: strong ? 2 : many ? 0.6 : 1.2, zIndex: strong ? 2 : meant ? 1 : 0,
      ...(many ? {} : { type: line.both ? "both" : "arrow" }),
      label: told && this.net ? this.words(line, this.net) : "", forceLabel: told,
    };
  }

  private words(line: Line, net: Net): string {
    return short([...new Set(line.relations.map((each) => relationWords(each, net)))].join(" · "), LONGEST_WORDS);
  }

  private hover(node: string | null, edge: string | null): void {
    const touched = new Set<string>();
    const gather = () => {
      if (this.hoveredEdge && this.graph.hasEdge(this.hoveredEdge)) touched.add(this.hoveredEdge);
      if (this.hoveredNode && this.graph.hasNode(this.hoveredNode)) for (const each of this.graph.edges(this.hoveredNode)) touched.add(each);
    };
    gather();
    if (node === this.hoveredNode && edge === this.hoveredEdge) return;
    [this.hoveredNode, this.hoveredEdge] = [node, edge];
    gather();
    this.box.classList.toggle("graph-pointing", node !== null);
    this.sigma.refresh({ partialGraph: { edges: [...touched] }, skipIndexation: true, schedule: true });
  }

  /** Below its dot, unless another label stands there. */
  private drawLabel: NodeLabelDrawingFunction = (context, data, settings) => {
    if (!data.label) return;
    const size = settings.labelSize;
    context.font = `${settings.labelWeight} ${size}px ${settings.labelFont}`;
    const half = context.measureText(data.label).width / 2 + 2;
    const [left, right, top] = [data.x - half, data.x + half, data.y + data.size + 3];
    const bottom = top + size;
    if (!data.forceLabel && this.taken.some((each) => overlap([left, right, top, bottom], each))) return;
    // The ground that the name of whom one looks at stands on is wider.
    this.taken.push(data.highlighted ? [left - 8, right + 8, top, bottom + 10] : [left, right, top, bottom]);
    // A rim in the colour of the ground, so that it can be read over lines and dots.
    context.lineJoin = "round";
    context.lineWidth = 3;
    context.strokeStyle = `rgb(${this.ground.join(" ")})`;
    context.strokeText(data.label, left + 2, bottom - 1);
    context.fillStyle = settings.labelColor.color ?? "#000";
    context.fillText(data.label, left + 2, bottom - 1);
  };

  /** A ring around the dot, and its name on a ground of its own. */
  private drawHover: NodeHoverDrawingFunction = (context, data, settings) => {
    const size = settings.labelSize;
    const [x, y, radius] = [data.x, data.y, data.size];
    context.font = `600 ${size}px ${settings.labelFont}`;
    context.lineWidth = 2;
    context.strokeStyle = this.css("--accent");
    context.beginPath();
    context.arc(x, y, radius + 3, 0, 2 * Math.PI);
    context.stroke();
    if (!data.label) return;
    const half = context.measureText(data.label).width / 2;
    const top = y + radius + 5;
    context.fillStyle = this.css("--raised");
    context.strokeStyle = this.css("--control-line");
    context.lineWidth = 1;
    context.beginPath();
    context.roundRect(x - half - 7, top, 2 * half + 14, size + 8, 6);
    context.fill();
    context.stroke();
    context.fillStyle = this.css("--text");
    context.fillText(data.label, x - half, top + size + 2);
  };

  /** On its line, level, however short the line is: in the middle, or beside it where a label stands there. */
  private drawWords: EdgeLabelDrawingFunction = (context, edge, source, target, settings) => {
    if (!edge.label) return;
    const size = settings.edgeLabelSize;
    context.font = `500 ${size}px ${settings.edgeLabelFont}`;
    const half = context.measureText(edge.label).width / 2 + 4;
    const around = ([share, aside, lines]: (typeof PLACES)[number]): Box => {
      const x = source.x + (target.x - source.x) * share + aside * half;
      const y = source.y + (target.y - source.y) * share + lines * size * 1.2;
      return [x - half, x + half, y - size * 0.7, y + size * 0.7];
    };
    const dots = [source, target].map((each): Box => [each.x - each.size, each.x + each.size, each.y - each.size, each.y + each.size]);
    const others = [...this.taken, ...dots];
    const boxes = PLACES.map(around);
    const box = boxes.find((each) => !others.some((one) => overlap(each, one))) ?? boxes[0]!;
    this.taken.push(box);
    const [x, y] = [box[0] + 4, (box[2] + box[3]) / 2 + size / 3];
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = `rgb(${this.ground.join(" ")})`;
    context.strokeText(edge.label, x, y);
    context.fillStyle = this.css("--accent");
    context.fillText(edge.label, x, y);
  };

  private css(token: string): string {
    return `rgb(${(this.colors.get(token) ?? [0, 0, 0]).join(" ")})`;
  }

  /** A colour so far faded into the ground; sigma draws no transparent ones well. */
  private mixed(token: string, share: number): string {
    const color = this.colors.get(token) ?? [128, 128, 128];
    const parts = color.map((each, index) => Math.round(each + ((this.ground[index] ?? 0) - each) * share));
    return `#${parts.map((each) => each.toString(16).padStart(2, "0")).join("")}`;
  }
}

function overlap(one: Box, other: Box): boolean {
  return one[0] < other[1] && one[1] > other[0] && one[2] < other[3] && one[3] > other[2];
}

/** Whoever moves the picture points at nobody. */
const dragging = (event: MouseEvent | TouchEvent) => "buttons" in event && event.buttons > 0;

function linesOf(net: Net): Map<string, Line> {
  const lines = new Map<string, Line>();
  for (const edge of net.edges.values()) {
    if (edge.source === edge.target) continue;
    const id = edge.source < edge.target ? `${edge.source} ${edge.target}` : `${edge.target} ${edge.source}`;
    const there = lines.get(id);
    if (!there) lines.set(id, { relations: [edge], both: false });
    else {
      there.relations.push(edge);
      there.both ||= edge.source !== there.relations[0]?.source;
    }
  }
  return lines;
}

function rgb(color: string): Color {
  const [r = 0, g = 0, b = 0] = (color.match(/[\d.]+/g) ?? []).map(Number);
  return [r, g, b];
}

/** On one line, with a mark where the rest was left out. */
export function short(text: string, most: number): string {
  const flat = text.replace(/\s+/g, " ");
  return [...flat].length <= most ? flat : `${[...flat].slice(0, most - 1).join("").trimEnd()}…`;
}
