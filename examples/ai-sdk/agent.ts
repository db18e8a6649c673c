import { generateText, isStepCount, tool } from 'ai'
import * as z from 'zod'
import { model } from './scripted-model.ts'
import { payApproved, transferApprovals } from './transfers.ts'

const { BONDED_ORIGIN, BONDED_SERVER_CREDENTIAL, BONDED_SUBJECT = '' } = process.env
const payment = {
  approvals: transferApprovals({
    baseUrl: BONDED_ORIGIN,
    serverCredential: BONDED_SERVER_CREDENTIAL,
  }),
  user: { id: 'user-1', subjectRef: BONDED_SUBJECT },
  send: async ({ to, cents }: { to: string; cents: number }, id: string) => {
    console.log(`Sent ${cents} cents to ${to} as ${id}`)
    return 'sent'
  },
}

const { text } = await generateText({
  model,
  prompt: 'Pay the invoice.',
  stopWhen: isStepCount(5),
  tools: {
    transfer: tool({
      description: 'Transfers money. The user has to approve each transfer on the phone.',
      inputSchema: z.object({ to: z.string(), cents: z.int().positive() }),
      execute: (args, { abortSignal }) => payApproved(payment, args, abortSignal),
    }),
  },
})
console.log(text)
