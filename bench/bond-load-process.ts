import type { TestPhone } from '../tests/harness/phone.ts'
import { inTurns, respondToTasks } from './http-calls.ts'
import { type Bond, ServiceCalls } from './phones.ts'
import type { Ready } from './process.ts'

/** The calls of a bond, in order. */
export const BOND_STEPS = ['create', 'claim', 'evidence', 'attest', 'get'] as const

/** Sends one call of many bonds at once. The next task continues with the same bonds. */
interface BondTask extends Ready {
  readonly step: (typeof BOND_STEPS)[number]
  readonly flows: number
  readonly callers: number
}

let bonds: Bond[] = []
/** One phone per caller, because the counters of one phone must rise one by one. */
const phones: TestPhone[] = []

respondToTasks(async (task: BondTask) => {
  const { callers } = task
  const service = new ServiceCalls(task)
  while (phones.length < callers) phones.push(await service.enrol())
  if (task.step === 'create') {
    bonds = []
    await inTurns(Array.from({ length: task.flows }), callers, async (_, index) => {
      bonds[index] = await service.create(phones[index % callers] as TestPhone)
    })
  }
  if (task.step === 'claim') await inTurns(bonds, callers, (bond) => service.claim(bond))
  if (task.step === 'evidence') await inTurns(bonds, callers, (bond) => service.fetchEvidence(bond))
  if (task.step === 'attest')
    await inTurns(
      bonds,
      callers,
      async (bond) => void (await service.attest(bond, service.sign(bond))),
    )
  if (task.step === 'get')
    await inTurns(bonds, callers, async (bond) => void (await service.get(bond)))
  return {}
})
