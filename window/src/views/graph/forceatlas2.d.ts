declare module "graphology-layout-forceatlas2/iterate.js" {
  /** One round; both matrices are changed. */
  export default function iterate(settings: object, nodes: Float32Array, edges: Float32Array): void;
}
