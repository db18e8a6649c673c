/**
 * What the nodes of this version know. Each node sends it with its messages to the other nodes.
 * Those of 0.1.0 have level 1. A feature that they would ignore takes the next level, and each use
 * of it calls `Tables.claimLevel` first. From then on, no node below that level starts.
 */
export const NODE_LEVEL = 1
