import { createPublicKey, verify } from 'node:crypto'
import { type Signer, SignerError } from '@bonded/core/ports/signer'
import { ProgramError, runProgram } from '../programs/program.ts'

/** Ed25519 signatures have 64 bytes, which are 88 characters of base64. */
const SIGNATURE_BYTES = 64
const MAX_OUTPUT_CHARACTERS = 1_024
/** Far more than a key service needs. */
const TIMEOUT_MS = 10_000
/** Programs at once: each is a process. Further calls wait. */
const MAX_PROGRAMS = 4
/** Calls that wait. Beyond them the key service is too slow, and waiting would not help. */
const MAX_WAITING = 256

/**
 * Signs by a program, for keys that never leave a key service. The program gets the id of the key
 * as its argument and the bytes on its standard input, and prints the signature in base64. It does
 * not get the settings of the service, which are secrets.
 *
 * @param options.timeoutMs after which the program is killed
 */
export function commandSigner(
  publicKeys: Signer['publicKeys'],
  { command, timeoutMs = TIMEOUT_MS }: { readonly command: string; readonly timeoutMs?: number },
): Signer {
  const [{ kid, ...jwk }] = publicKeys
  const publicKey = createPublicKey({ key: { ...jwk }, format: 'jwk' })
  const waiting: (() => void)[] = []
  let running = 0
  return {
    publicKeys,
    async sign(bytes) {
      if (waiting.length >= MAX_WAITING) throw new SignerError('too many signatures wait')
      // A call that ends gives its place to the next one.
      if (running < MAX_PROGRAMS) running++
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        const output = await runProgram(command, {
          args: [kid],
          input: bytes,
          timeoutMs,
          maxCharacters: MAX_OUTPUT_CHARACTERS,
        })
        const signature = Buffer.from(output.trim(), 'base64')
        // A program that signs with another key would make receipts that do not verify.
        if (signature.length === SIGNATURE_BYTES && verify(null, bytes, publicKey, signature))
          return signature
        throw new SignerError(`${command} printed no signature of the key ${kid}`)
      } catch (cause) {
        if (!(cause instanceof ProgramError)) throw cause
        const { message, printed } = cause
        throw new SignerError(`${command} ${message}${printed && `: ${printed}`}`, { cause })
      } finally {
        const next = waiting.shift()
        if (next === undefined) running--
        else next()
      }
    },
  }
}
