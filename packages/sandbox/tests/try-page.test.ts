import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserMissing, openBrowser } from '../../../tests/browser.ts'
import { COMMAND } from '../../../tests/harness/process.ts'
import { ASKED, OPENED, startTrial } from '../../../tests/harness/trial.ts'
import { readAll } from '../../phone-page/tests/phone-browser.ts'

test('shows the simulated phone in a browser', { skip: browserMissing }, async (t) => {
  const command = [process.execPath, ...COMMAND, 'try', '--', 'echo', 'ran']
  const { ended, printed, says } = await startTrial(t, command)
  const [, origin = ''] = await says(OPENED)
  const browser = await openBrowser()
  t.after(() => browser.close())
  const page = await browser.newPage()
  const press = (name: string | RegExp) =>
    page.getByRole('button', { name, exact: typeof name === 'string' }).click()
  const approve = async () => {
    await page.locator('[data-screen=request]').waitFor()
    await readAll(page)
    await press('Approve')
  }
  await page.goto(`${origin}/phone`)
  await press('Set up this phone')
  await approve()
  await says(ASKED)
  await page.goto(`${origin}/phone`)
  await press('Open')
  await page.getByRole('button', { name: /Trial: accepts any key/ }).click()
  await page.locator('[data-screen=request]').waitFor()
  await approve()
  await page.getByRole('heading', { name: 'Your request is complete' }).waitFor()
  assert.deepEqual(await ended, [0, null], printed.stderr)
  assert.equal(printed.stdout, 'ran\n')
})
