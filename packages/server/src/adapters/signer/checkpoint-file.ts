import { open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CheckpointError, type KeptCheckpoint } from '@bonded/core/ports/kept-checkpoint'

/** Keeps the latest checkpoint of a node in a file, which the node alone writes. */
export function checkpointFile(file: string): KeptCheckpoint {
  let known: string | undefined
  const fail = (to: string) => (cause: unknown) => {
    throw new CheckpointError(`${file} cannot be ${to}`, { cause })
  }
  return {
    async read() {
      known ??= await readFile(file, 'utf8').catch((failure: NodeJS.ErrnoException) =>
        failure.code === 'ENOENT' ? '' : fail('read')(failure),
      )
      return known
    },
    async store(checkpoint) {
      await replaceFile(file, checkpoint).catch(fail('written'))
      known = checkpoint
    },
  }
}

async function replaceFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}`
  const written = await open(draft, 'w', 0o600)
  try {
    await written.writeFile(text)
    await written.sync()
  } finally {
    await written.close()
  }
  await rename(draft, file)
  await syncFolder(dirname(file))
}

/** A new name is durable once its folder is. Windows cannot sync a folder. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const opened = await open(folder, 'r')
  try {
    await opened.sync()
  } finally {
    await opened.close()
  }
}
