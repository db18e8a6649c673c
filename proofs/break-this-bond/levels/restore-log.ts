import { beginLogAsOperator } from '@bonded/core/operations/admin/begin-receipt-log'
import { publishedClosings } from '@bonded/core/operations/receipt/log-epochs'
import { backup } from '../../../packages/core/tests/memory/memory.ts'
import { auditAlone, auditWithWitness, logReceipts, publishedLog } from '../engine/auditor.ts'
import type { Level, Outcome } from '../engine/level.ts'
import { createWorld, letMiaTransfer, show } from '../engine/world.ts'

/** A log that was rolled back does not continue what the witness has cosigned. */
export const restoreLog: Level = {
  id: 9,
  title: 'Be the operator after a restore',
  you: 'You are the operator. After last night’s backup Mia sent EUR 40 to Ben, and its receipt is in the log. Restore the backup, go on, and convince an auditor that no receipt is missing.',
  guard: { file: 'verify-log.ts', name: 'log_rewritten' },
  remains:
    'An auditor without an outside witness, and without an earlier checkpoint, cannot see that the log was rolled back.',
  moves: {
    restore: 'Restore the backup, and let Mia send EUR 70 to Eva',
    forget: 'Delete the file of your node with the latest checkpoint',
    close: 'Close the log, and begin another one, as the manual says',
    show: 'Show the log to an auditor who requires the witness',
    alone: 'Show the log to an auditor who knows no witness',
  },
  async begin(seed) {
    const world = await createWorld(seed)
    const { bank, game } = world
    const { memory, receipts, service } = game
    await letMiaTransfer(world, { To: 'Anna', Amount: 'EUR 90' })
    await logReceipts(game)
    const restore = backup(memory)
    let latest = await letMiaTransfer(world, { To: 'Ben', Amount: 'EUR 40' })
    await logReceipts(game)
    /** What the auditor has stored since. */
    const stored = await publishedLog(game)
    let isRestored = false
    let outcome: Outcome = 'none'
    const judge = async (said: string, won: Outcome) => {
      if (said !== 'accept') {
        world.stopped.push(said)
        return `The auditor rejects: ${said}.`
      }
      if (!isRestored) return 'The auditor accepts the log, which has every receipt.'
      const [closed] = await publishedClosings(service)
      if (closed !== undefined)
        return `The auditor reads that the log was closed after entry ${closed.entries}, by a ${closed.reason}.`
      outcome = won
      show(world, 'bank', 'Your receipt of EUR 40 to Ben has no place in the log any more.')
      return 'The auditor accepts the log, in which the receipt of EUR 40 to Ben is missing.'
    }
    const presented = async () => {
      const problems = await logReceipts(game)
      world.stopped.push(...receipts.witness.refusals)
      for (const problem of problems) show(world, 'you', problem)
      return bank.receiptOf(latest)
    }
    return {
      world,
      moves: {
        async restore() {
          if (isRestored) return 'It is restored already.'
          isRestored = true
          restore()
          latest = await letMiaTransfer(world, { To: 'Eva', Amount: 'EUR 70' })
          return 'The database is that of last night, and the bank goes on.'
        },
        forget() {
          receipts.kept = ''
          return 'Your node knows no checkpoint.'
        },
        async close() {
          const { entries } = await beginLogAsOperator(service, 'restore')
          return `The log is closed after entry ${entries}, and another one continues it.`
        },
        show: async () => judge(await auditWithWitness(game, await presented(), stored), 'won'),
        alone: async () => judge(await auditAlone(game, await presented()), 'remains'),
      },
      outcome: () => outcome,
    }
  },
}
