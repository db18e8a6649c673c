import { describe, test } from 'node:test'
import { checkGuide, runScenario, testName } from '../pressure/prove-fault.ts'
import { SCENARIOS } from './fault-scenarios.ts'

// Most of their time passes while a fault lasts.
describe('faults of nodes on PostgreSQL', { concurrency: 3 }, () => {
  for (const scenario of SCENARIOS) test(testName(scenario), (t) => runScenario(scenario, t))
})

test('the guide lists every fault on PostgreSQL, with the same observation', () =>
  checkGuide(SCENARIOS))
