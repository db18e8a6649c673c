/**
 * What a node of an older version ignores. Each node sends the highest level that it knows with its
 * messages to the other nodes. A new feature gets the next level, and `Tables.servesOlderNode`
 * asks for it before the first use.
 */
export const NODE_LEVELS = {
  suspension: 1,
  requester_and_text: 2,
  inbox: 3,
  retention: 4,
} as const

export type NodeFeature = keyof typeof NODE_LEVELS

/** The level of the nodes of this version. */
export const NODE_LEVEL = Math.max(...Object.values(NODE_LEVELS))
