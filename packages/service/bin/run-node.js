import { spawn } from 'node:child_process'
import process from 'node:process'

/**
 * Runs Node in a process of its own, and exits with its code. A signal ends that process and every
 * program that it has started. On a terminal, Ctrl+C arrives there once: only this process is in
 * the group that the terminal signals.
 *
 * @param {string} node
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
export function runNode(node, args, env) {
  // Windows has neither process groups nor signals.
  const isWindows = process.platform === 'win32'
  const child = spawn(node, args, { stdio: 'inherit', detached: !isWindows, env })
  let isEnding = false
  /** @param {'SIGINT' | 'SIGTERM' | 'SIGHUP'} signal */
  function end(signal) {
    isEnding = true
    if (isWindows || child.pid === undefined) child.kill(signal)
    else process.kill(-child.pid, signal)
  }
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => end(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
  // Without npm, a command may outlive the shell that started it.
  if (process.env.npm_command === undefined) return
  // npm passes a signal to the shell in which it runs a script, and the shell ends without passing
  // it on. A terminal signals both at once: its signal arrives before the second comparison.
  const parent = process.ppid
  let hasChanged = false
  setInterval(() => {
    if (process.ppid === parent) return
    // A second signal would end a script that is still ending its own programs.
    if (hasChanged && !isEnding) end('SIGTERM')
    hasChanged = true
  }, 250).unref()
}
