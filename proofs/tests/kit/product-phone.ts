import type { AddressInfo } from 'node:net'
import {
  createSimulatedPhone,
  nodeClock,
  PhoneError,
  simulateCarriedPhone,
} from '@bonded/simulator'
import { serveAdapter } from '../../kit/adapters/serve.ts'
import { randomFor } from '../../../tests/random.ts'

/*
 * The control adapter of the product's own phone, as a process. The simulated phone has the keys
 * and the sensors, and the library for phones does what an app would do. It sends its port.
 */

type Library = Awaited<ReturnType<ReturnType<typeof createSimulatedPhone>['library']>>

const draw = randomFor('the phone of the kit')
const PARTS = 1_000_000
const random = () => draw(PARTS) / PARTS
let phone: Library | undefined
let claimed: Awaited<ReturnType<Library['claim']>> | undefined

/** A phone that stops throws; the kit reads why. */
async function orStopped(act: () => Promise<object>): Promise<object> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof PhoneError)) throw error
    return { stopped: error.reason ?? error.code }
  }
}

const server = await serveAdapter({
  async reset({ origin }) {
    phone = await createSimulatedPhone({ origin }).library()
    return {}
  },
  open: ({ text }) =>
    orStopped(async () => {
      claimed = undefined
      claimed = await phone?.claim(text)
      const { tenant_name, context } = claimed?.session ?? {}
      return { shown: { tenant_name, ...context } }
    }),
  approve: () =>
    orStopped(async () => {
      if (claimed === undefined) throw new TypeError('nothing is open')
      const local_auth = {
        result: 'verified',
        method: 'biometric',
        at_ms: nodeClock.now(),
      } as const
      const signals = { local_auth, sensor_continuity: simulateCarriedPhone(random) }
      claimed = await phone?.approve(claimed, { gather: () => signals })
      return { state: claimed?.session.state }
    }),
  decline: ({ reason }) =>
    orStopped(async () => {
      if (claimed === undefined) throw new TypeError('nothing is open')
      claimed = await phone?.decline(claimed, { reason })
      return { state: claimed?.session.state }
    }),
})
process.send?.((server.address() as AddressInfo).port)
