import type { WebSocketConstructor } from '../src/index.ts'

/** A platform where sockets are blocked. */
export const blockedSocket = function blocked() {
  throw new SyntaxError('blocked')
} as unknown as WebSocketConstructor
