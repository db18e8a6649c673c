import { Agent, Runner, tool } from '@openai/agents'
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

const transfer = tool({
  name: 'transfer',
  description: 'Transfers money. The user has to approve each transfer on the phone.',
  parameters: z.object({ to: z.string(), cents: z.int().positive() }),
  // By default, the SDK answers a failure with "Please try again", also if the money was sent.
  errorFunction: null,
  execute: (args, _context, details) => payApproved(payment, args, details?.signal),
})
const agent = new Agent({ name: 'Invoice agent', model, tools: [transfer] })
// By default, the SDK sends the arguments and results of tools to OpenAI.
const { finalOutput } = await new Runner({ tracingDisabled: true }).run(agent, 'Pay the invoice.')
console.log(finalOutput)
