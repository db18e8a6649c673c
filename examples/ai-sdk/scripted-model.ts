import { MockLanguageModelV4 } from 'ai/test'

/** Replace it by your model: it calls the tool once, and then says what the tool returned. */
export const model = new MockLanguageModelV4({
  async doGenerate({ prompt }) {
    const last = prompt.at(-1)
    const result = last?.role === 'tool' ? JSON.stringify(last.content) : undefined
    const input = JSON.stringify({ to: 'DE02 1203 0000 0000 2020 51', cents: 125_000, user: 'eve' })
    const call = { type: 'tool-call', toolCallId: 'call-1', toolName: 'transfer', input } as const
    return {
      content: [result === undefined ? call : { type: 'text', text: `The agent read: ${result}` }],
      finishReason: { unified: result === undefined ? 'tool-calls' : 'stop', raw: undefined },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
      warnings: [],
    }
  },
})
