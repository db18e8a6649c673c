import type { ReceiptClaims } from '@bonded/contract'
import { auditAlone, auditWithWitness, logReceipts, publishedLog } from '../engine/auditor.ts'
import { claimsOf, resign, signedBy } from '../engine/forge.ts'
import type { Level, Outcome } from '../engine/level.ts'
import { createWorld, letMiaTransfer, show } from '../engine/world.ts'

const MIAS = { To: 'Anna', Amount: 'EUR 90' }
const YOURS = { To: 'Mallory', Amount: 'EUR 9000' }

/** The log has one receipt in each place, and the witness has seen it. */
export const rewriteReceipt: Level = {
  id: 8,
  title: 'Rewrite a receipt as the operator',
  you: 'You are the operator, with the database and the key that signs receipts. Mia has sent EUR 90 to Anna. Make the receipt say EUR 9000 to Mallory, and convince an auditor.',
  guard: { file: 'verify-log.ts', name: 'not_included' },
  remains:
    'An auditor without an outside witness, and without an earlier checkpoint, sees only the log that you show. A receipt names the phone’s key, and does not show whose it is.',
  moves: {
    text: 'Change the text, and sign the receipt with the service’s key',
    phone: 'Sign the text with a phone key of your own, which the receipt then names',
    log: 'Replace Mia’s receipt in the log with yours, and sign the log again',
    show: 'Show it to an auditor who requires the witness',
    alone: 'Show it to an auditor who knows no witness',
  },
  async begin(seed) {
    const world = await createWorld(seed)
    const { bank, game, own } = world
    const { memory, receipts } = game
    const id = await letMiaTransfer(world, MIAS)
    await logReceipts(game)
    /** What the auditor and the bank have stored since. */
    const stored = await publishedLog(game)
    const copy = await bank.receiptOf(id)
    let { receipt } = copy
    /** The receipt that the log has. Without it there, an auditor needs no witness. */
    let logged = receipt
    let outcome: Outcome = 'none'
    const judge = (said: string, won: Outcome) => {
      const text = JSON.stringify(shown(claimsOf(receipt)))
      if (said !== 'accept') {
        world.stopped.push(said)
        return `The auditor rejects: ${said}.`
      }
      if (receipt === copy.receipt) return `The auditor accepts the receipt of Mia: ${text}.`
      if (text === JSON.stringify(YOURS)) outcome = won
      show(world, 'bank', `The bank’s own copy of the receipt says ${JSON.stringify(MIAS)}.`)
      return `The auditor accepts: Mia has approved ${text}.`
    }
    const presented = async () => ({ receipt, proof: (await bank.receiptOf(id)).proof })
    return {
      world,
      moves: {
        async text() {
          const { context } = claimsOf(receipt)
          const display = Object.entries(YOURS).map(([label, value]) => ({ label, value }))
          const changed = { ...context, digest: bank.digestOf(YOURS), display }
          receipt = await resign(receipt, receipts.signer, { context: changed })
          return 'The receipt says EUR 9000 to Mallory. The key of the service has signed it.'
        },
        async phone() {
          const phone = signedBy(own.key, claimsOf(receipt))
          receipt = await resign(receipt, receipts.signer, { phone })
          return 'Your phone has signed the text of the receipt, which names your key.'
        },
        async log() {
          for (const [key, row] of memory.receipts)
            memory.receipts.set(key, { ...row, jws: receipt, logIndex: null })
          for (const rows of [memory.logHead, memory.logTiles]) rows.clear()
          receipts.kept = ''
          const problems = await logReceipts(game)
          world.stopped.push(...receipts.witness.refusals)
          logged = receipt
          const whose = receipt === copy.receipt ? 'the receipt of Mia' : 'your receipt'
          return [`The log is new, with ${whose}.`, ...problems].join(' ')
        },
        show: async () => judge(await auditWithWitness(game, await presented(), stored), 'won'),
        alone: async () =>
          judge(await auditAlone(game, await presented()), logged === receipt ? 'remains' : 'won'),
      },
      outcome: () => outcome,
    }
  },
}

/** The labels and values of a receipt, as a form has them. */
function shown({ context }: ReceiptClaims) {
  return Object.fromEntries((context?.display ?? []).map(({ label, value }) => [label, value]))
}
