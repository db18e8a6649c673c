/**
 * The largest request body of each kind of endpoint, in bytes (protocol 1). Each holds the largest
 * body that its schema allows, or several times the largest that a phone sends, and no more: a body
 * is read before its content can be judged.
 */
export const BODY_LIMITS = {
  /** The limit of endpoints that take no body: an empty object and white space. */
  none: 1024,
  /** A nonce and a device id, or a report about a container. */
  claim: 1024,
  /** The same with a reason and a note, whose every character is written as JSON escapes. */
  decline: 4 * 1024,
  /** The origin of the page that shows the service's frame. */
  browserFrame: 1024,
  /** A URL of 2,048 characters, each written as a JSON escape, and a list of events. */
  webhook: 16 * 1024,
  /** A context of eight pairs and a text, whose every character is written as a JSON escape. */
  create: 96 * 1024,
  /** An assertion with its evidence. The largest that phones send, WebAuthn's, is below 3 KiB. */
  assertion: 8 * 1024,
  /** Seven certificates of 8 KiB in base64url. */
  registration: 96 * 1024,
  /** The files of a passport, 300 seconds of motion and a carrier's token. */
  evidence: 128 * 1024,
} as const
