import { parentPort } from 'node:worker_threads'

/** A worker that performs the requested action: it responds, or fails in one of four ways. */
parentPort?.on(
  'message',
  (message: {
    readonly do: 'respond' | 'hang' | 'throw' | 'exit' | 'grow'
    readonly text?: string
  }) => {
    const grown: number[][] = []
    switch (message.do) {
      case 'respond':
        parentPort?.postMessage(message.text)
        return
      case 'throw':
        throw new Error('on purpose')
      case 'exit':
        process.exit(0)
        return
      case 'grow':
        for (;;) grown.push(Array.from({ length: 100_000 }, (_, index) => index))
      case 'hang':
        for (;;);
    }
  },
)
parentPort?.postMessage('loaded')
