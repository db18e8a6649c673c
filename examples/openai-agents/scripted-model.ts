import { type Model, Usage } from '@openai/agents'

/** Replace it by your model: it calls the tool once, and then says what the tool returned. */
export const model: Model = {
  async getResponse({ input }) {
    const last = typeof input === 'string' ? undefined : input.at(-1)
    const result = last?.type === 'function_call_result' ? JSON.stringify(last.output) : undefined
    const args = { to: 'DE02 1203 0000 0000 2020 51', cents: 125_000, user: 'eve' }
    return {
      usage: new Usage(),
      output: [
        result === undefined
          ? {
              type: 'function_call',
              callId: 'call-1',
              name: 'transfer',
              status: 'completed',
              arguments: JSON.stringify(args),
            }
          : {
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text: `The agent read: ${result}` }],
            },
      ],
    }
  },
  getStreamedResponse() {
    throw new Error('this model does not stream')
  },
}
