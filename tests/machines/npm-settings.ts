import { execFileSync } from 'node:child_process'
import { ROOT } from './copy-repository.ts'

/** The settings of this machine's npm with which it reaches its registry. */
export function npmSettings(): string {
  const of = (name: string) =>
    execFileSync('npm', ['config', 'get', name], { cwd: ROOT, encoding: 'utf8' }).trim()
  return ['registry', 'cafile', 'proxy', 'https-proxy']
    .map((name) => [name, of(name)])
    .filter(([, value]) => value !== 'null')
    .map(([name, value]) => `${name}=${value}\n`)
    .concat('prefer-offline=true\n')
    .join('')
}
