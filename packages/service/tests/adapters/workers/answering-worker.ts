import { parentPort } from 'node:worker_threads'

/** A worker that does as it is told, to see what becomes of those that do not answer. */
parentPort?.on(
  'message',
  (message: {
    readonly do: 'answer' | 'hang' | 'throw' | 'exit' | 'grow'
    readonly text?: string
  }) => {
    const grown: number[][] = []
    switch (message.do) {
      case 'answer':
        parentPort?.postMessage(message.text)
        return
      case 'throw':
        throw new Error('on purpose')
      case 'exit':
        process.exit(0)
        return
      case 'grow':
        for (;;) grown.push(Array.from({ length: 100_000 }, (_, at) => at))
      case 'hang':
        for (;;);
    }
  },
)
