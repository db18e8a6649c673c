import { spawn } from 'node:child_process'
import { createPublicKey, verify } from 'node:crypto'
import { type Signer, SignerError } from '@bonded/core/ports/signer'

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
        const output = await run(command, { argument: kid, input: bytes, timeoutMs })
        const signature = Buffer.from(output.trim(), 'base64')
        // A program that signs with another key would make receipts that do not verify.
        if (signature.length === SIGNATURE_BYTES && verify(null, bytes, publicKey, signature))
          return signature
        throw new SignerError(`${command} printed no signature of the key ${kid}`)
      } finally {
        const next = waiting.shift()
        if (next === undefined) running--
        else next()
      }
    },
  }
}

/** Runs a program without a shell, and returns what it prints. */
function run(
  command: string,
  given: { readonly argument: string; readonly input: Uint8Array; readonly timeoutMs: number },
): Promise<string> {
  const { argument, input, timeoutMs } = given
  const child = spawn(command, [argument], {
    env: Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.startsWith('BONDED_')),
    ),
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own, so that what the program has started ends with it.
    detached: true,
  })
  const kill = () => {
    try {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // The whole group has ended by itself.
    }
    child.stdout.destroy()
    child.stderr.destroy()
  }
  const timer = setTimeout(kill, timeoutMs)
  const printed = { out: '', err: '' }
  const collect = (name: keyof typeof printed) => (text: unknown) => {
    printed[name] += String(text)
    if (printed[name].length > MAX_OUTPUT_CHARACTERS) kill()
  }
  child.stdout.on('data', collect('out'))
  child.stderr.on('data', collect('err'))
  // A program that ends without reading its input breaks the pipe. Its status says what happened.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return new Promise<string>((resolve, reject) => {
    child.once('error', (cause) => reject(new SignerError(`${command} cannot be run`, { cause })))
    child.once('close', (status, signal) => {
      const end = signal ?? `status ${String(status)}`
      const said = printed.err.trim().slice(0, MAX_OUTPUT_CHARACTERS)
      if (status === 0) resolve(printed.out)
      else reject(new SignerError(`${command} ended with ${end}${said && `: ${said}`}`))
    })
  }).finally(() => clearTimeout(timer))
}
