import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { firstOutput } from '../../../tests/harness/first-output.ts'

const PYTHON_SOURCES = resolve(import.meta.dirname, '../../../packages/python/src')

/** A fault of the product: in a file of `packages`, one text in place of another. */
export interface Fault {
  readonly file: string
  readonly from: string
  readonly to: string
}

/** A control adapter of the product in a process of its own, with a fault or without. */
export interface ChildAdapter extends AsyncDisposable {
  readonly address: string
}

/** Starts `product-phone.ts` or `product-verifier-process.ts`, which send their port. */
export async function childAdapter(program: string, fault?: Fault): Promise<ChildAdapter> {
  const child: ChildProcess = fork(`${import.meta.dirname}/${program}`, {
    execArgv: [
      '--conditions=@bonded/source',
      '--disable-warning=ExperimentalWarning',
      ...(fault ? ['--import', `${import.meta.dirname}/plant.ts`] : []),
    ],
    env: { ...process.env, ...(fault && { KIT_FAULT: JSON.stringify(fault) }) },
  })
  const [port] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`${program} ended with ${code}`)
    }),
  ])
  return adapterOf(child, port)
}

/** Starts `product_python.py`: the package, or the script of the guide. */
export async function pythonAdapter(
  python: string,
  of: 'package' | 'script',
): Promise<ChildAdapter> {
  const program = ['-B', `${import.meta.dirname}/product_python.py`, of]
  const child = spawn(python, program, {
    env: { ...process.env, PYTHONPATH: PYTHON_SOURCES },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return adapterOf(child, Number(await firstOutput(child)))
}

function adapterOf(child: ChildProcess, port: number): ChildAdapter {
  const ended = once(child, 'exit')
  return {
    address: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
