import { test } from 'node:test'
import { SCENARIOS } from './fault-scenarios.ts'
import { checkGuide, runScenario, testName } from './prove-fault.ts'

for (const scenario of SCENARIOS) test(testName(scenario), (t) => runScenario(scenario, t))

test('the guide lists every fault on SQLite, with the same observation', () =>
  checkGuide(SCENARIOS))
