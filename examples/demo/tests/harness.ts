import { createActivity, type Sandbox, startDemo } from '../src/index.ts'

/** The demo without a service: a phone that scans nothing, and a sandbox that records its calls. */
export async function openDemo(changes: Partial<Sandbox> = {}) {
  const calls: string[] = []
  let isRunning = true
  const sandbox: Sandbox = {
    newestCode: async () => undefined,
    stateOf: async () => undefined,
    isServiceRunning: () => isRunning,
    stopService: async () => {
      calls.push('stop')
      isRunning = false
    },
    startService: async () => {
      calls.push('start')
      isRunning = true
    },
    ...changes,
  }
  const activity = createActivity({ stateOf: async () => 'pending' })
  const demo = await startDemo({
    port: 0,
    bankOrigin: 'http://localhost:1',
    serviceOrigin: 'http://localhost:2',
    publishableKey: 'pk_beta_test',
    serverCredential: 'sk_beta_test',
    tenantId: 'ten_test',
    workflow: 'credit_application',
    action: 'submit_application',
    sandbox,
    activity,
  })
  const tokenOf = async (origin: string) => {
    const page = await (await fetch(origin)).text()
    return /name="demo-token" content="([\w-]{43})"/.exec(page)?.[1] ?? ''
  }
  return {
    calls,
    activity,
    demo,
    phoneOrigin: demo.phoneOrigin,
    relayOrigin: demo.relayOrigin,
    phoneToken: await tokenOf(demo.phoneOrigin),
    relayToken: await tokenOf(demo.relayOrigin),
    [Symbol.asyncDispose]: () => demo[Symbol.asyncDispose](),
  }
}
