import type { AddressInfo } from 'node:net'
import { serveAdapter } from '../../kit/adapters/serve.ts'
import { PRODUCT } from './product-verifier.ts'

/* The control adapter of the product's own verifiers, as a process. It sends its port. */

const commands = Object.entries(PRODUCT).map(([name, isValid]) => [
  `check/${name}`,
  async (input: unknown) => ({ valid: await isValid(input) }),
])
const server = await serveAdapter(Object.fromEntries(commands))
process.send?.((server.address() as AddressInfo).port)
