/** How often the parent is compared. A stop is noticed after the second difference. */
const COMPARE_MS = 250

let watch: NodeJS.Timeout | undefined

/**
 * Ends this process, by SIGTERM, when the process that started it ends. npm runs a command in a
 * shell and passes a signal on to that shell, which ends without passing it on.
 */
export function endWithParent(): void {
  const parent = process.ppid
  let hasChanged = false
  watch = setInterval(() => {
    if (process.ppid === parent) return
    // A terminal signals the shell and this process at once, and its signal is handled first.
    if (hasChanged) process.kill(process.pid, 'SIGTERM')
    hasChanged = true
  }, COMPARE_MS).unref()
}

/** Ends the watch, because this process is ending by itself. */
export function ignoreParent(): void {
  clearInterval(watch)
}
