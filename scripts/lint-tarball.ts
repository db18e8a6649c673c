import { readFileSync } from 'node:fs'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'

/** What publint says about a tarball, and what it suggests. Empty for a good one. */
export async function publintMessages(tarball: string): Promise<readonly string[]> {
  const { messages } = await publint({ pack: { tarball: bytesOf(tarball).buffer }, strict: true })
  return messages.map(({ code, path }) => `${code} at ${path.join('.')}`)
}

/**
 * What "Are the types wrong?" says about a tarball. The packages are ES modules only, so the
 * findings about CommonJS and about Node 10 are left out.
 */
export async function typeProblems(tarball: string): Promise<readonly string[]> {
  const packed = createPackageFromTarballData(bytesOf(tarball))
  const path = `/node_modules/${packed.packageName}/package.json`
  // A package that only has commands exports nothing.
  if (!('exports' in (JSON.parse(packed.readFile(path)) as object))) return []
  const result = await checkPackage(packed)
  if (result.types === false) return ['no types']
  return result.problems.flatMap((problem) => {
    const resolution = 'resolutionKind' in problem ? problem.resolutionKind : ''
    return resolution === 'node10' || resolution === 'node16-cjs'
      ? []
      : [`${problem.kind} ${resolution}`]
  })
}

/** In memory of its own: a small Buffer shares its memory with others. */
function bytesOf(path: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(path))
}
