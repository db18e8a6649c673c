import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { repositoryFiles } from '../scripts/repository-files.ts'
import { ROOT } from '../scripts/site/documents.ts'

const [, section = ''] = read('CONTRIBUTING.md').split('\n## Common changes\n')
const recipes = (section.split('\n## ')[0] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('- **'))
const files = repositoryFiles()
const code = files
  .filter((path) => /^(?:packages|scripts|tests)\/.*\.(?:ts|json)$/.test(path))
  .map((path) => read(path).replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, ''))
  .join('\n')

/** The names of a recipe: paths, files by their last part, and names in the code. */
function namesIn(recipe: string): string[] {
  return [...recipe.replaceAll(/\]\([^)]*\)/g, ']').matchAll(/`([^`]+)`/g)]
    .map(([, name = '']) => name)
    .filter((name) => !/^<|^\[|^npm |^\/\/ /.test(name))
}

/** A file by its last part is in a package that the recipe names, or in the root. */
function isFile(name: string, recipe: string): boolean {
  const packages = namesIn(recipe).flatMap((path) => /^packages\/[^/]+\//.exec(path)?.[0] ?? [])
  return (
    files.includes(name) ||
    files.some((path) => path.endsWith(`/${name}`) && packages.some((own) => path.startsWith(own)))
  )
}

/** A name in the code, not a part of another name. */
function isWord(name: string): boolean {
  return new RegExp(`(?<![\\w$])${name.replaceAll(/[^\w ]/g, '\\$&')}(?![\\w$])`).test(code)
}

test('every path and every name in a recipe of CONTRIBUTING.md exists', () => {
  assert.ok(recipes.length > 10)
  const wrong = recipes.flatMap((recipe) =>
    namesIn(recipe)
      .filter((name) =>
        /\.(?:ts|js|json|md)$/.test(name)
          ? !isFile(name, recipe)
          : !isWord(name) && !files.some((path) => path.startsWith(`${name}/`)),
      )
      .map((name) => `${recipe.slice(4, 40)}: ${name}`),
  )
  assert.deepEqual(wrong, [])
})

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
