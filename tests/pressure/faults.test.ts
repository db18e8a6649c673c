import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startCluster } from '../../packages/service/tests/harness/cluster.ts'
import { FSYNC_SOURCE, fsyncLibrary, SCENARIOS } from './fault-scenarios.ts'
import { checkGuide, proveFault, testName } from './prove-fault.ts'

for (const scenario of SCENARIOS) {
  test(testName(scenario), async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'bonded-faults-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    if (scenario.name.startsWith('fsync') && !compileFsync(folder))
      return t.skip('no gcc (apt-get install gcc), or no LD_PRELOAD')
    await using cluster = await startCluster({
      store: scenario.store,
      nodes: scenario.nodes,
      // Only the first node has the fault.
      envOfFirst: scenario.env?.(folder) ?? {},
    })
    await proveFault(scenario, { cluster, folder })
  })
}

test('the guide lists every fault on SQLite, with the same observation', () =>
  checkGuide(SCENARIOS))

function compileFsync(folder: string): boolean {
  if (process.platform !== 'linux') return false
  const made = spawnSync('gcc', [
    '-shared',
    '-fPIC',
    '-o',
    fsyncLibrary(folder),
    FSYNC_SOURCE,
    '-ldl',
  ])
  return made.status === 0
}
