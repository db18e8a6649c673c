import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
let sandbox: Sandbox
before(async () => {
  if (!browserMissing) sandbox = await Sandbox.start()
})
after(async () => sandbox?.[Symbol.asyncDispose]())

const DISPLAY = [
  { label: 'סכום', value: '\u200f\u200e-12,500.00 \u200f₪' },
  { label: 'المبلغ', value: '\u200f١٢٬٥٠٠٫٠٠ ج.م.\u200f' },
  { label: 'روز', value: 'سه\u200cشنبه' },
]

test(
  'approves amounts with directional marks, and shows them as they are',
  browserTest,
  async () => {
    const phone = await sandbox.phone()
    const session = await sandbox.create({ context: { display: DISPLAY } })
    await phone.open(session)
    await screen(phone.page, 'request')
    const shown = await phone.page.locator('dd').allTextContents()
    for (const { value } of DISPLAY) assert.ok(shown.includes(value), JSON.stringify(value))
    await press(phone.page, 'Approve')
    await screen(phone.page, 'approved')
    assert.equal((await sandbox.stateOf(session)).state, 'bonded')
    await phone.context.close()
  },
)
