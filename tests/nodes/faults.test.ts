import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { startCluster } from '../../packages/service/tests/harness/cluster.ts'
import { checkGuide, proveFault, testName } from '../pressure/prove-fault.ts'
import { SCENARIOS } from './fault-scenarios.ts'

// Most of their time passes while a fault lasts.
describe('faults of nodes on PostgreSQL', { concurrency: 3 }, () => {
  for (const scenario of SCENARIOS)
    test(testName(scenario), async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'bonded-faults-'))
      t.after(() => rmSync(folder, { recursive: true, force: true }))
      await using cluster = await startCluster({
        store: scenario.store,
        nodes: scenario.nodes,
        // Only the first node has the fault.
        envOfFirst: scenario.env?.(folder) ?? {},
      })
      await proveFault(scenario, { cluster, folder })
    })
})

test('the guide lists every fault on PostgreSQL, with the same observation', () =>
  checkGuide(SCENARIOS))
