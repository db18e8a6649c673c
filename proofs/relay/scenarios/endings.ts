import { changeSubject } from '@bonded/core/operations/admin/subjects'
import { MAX_FAILED_BROWSER_PROOFS } from '@bonded/core/domain/lifetimes'
import { moveDevice } from '@bonded/core/operations/admin/devices'
import { visitBank } from '../rig/bank-tab.ts'
import { approvedSession, proveFrom } from '../rig/sessions.ts'
import { HOSTS, OF_DOMAIN } from '../rig/stage.ts'
import type { Scenario } from '../scenario.ts'

/** Longer than the evidence of an approval is current. */
const EVIDENCE_AND_MORE_MS = 301_000

/** The evidence or the key of an approval ends before the browser's proof. */
export const ENDINGS: readonly Scenario[] = [
  {
    number: 18,
    title: 'The evidence, the device or the key ends between the two proofs',
    today: false,
    // oxlint-disable-next-line max-lines-per-function -- each part ends what the next one needs
    async run(stage) {
      await using service = await stage.newService(OF_DOMAIN)
      const person = await stage.newPerson(service)
      await using phone = person.phone
      await using computer = await stage.computer()
      stage.leadToBlankSite(HOSTS.bank)
      const { operator, clock } = service
      const prove = async (session: Awaited<ReturnType<typeof approvedSession>>) => {
        const passkeys = await phone.copyPasskeys()
        await computer.replacePasskeys(passkeys)
        await computer.page.goto(`${service.bank.origin}/`)
        return proveFrom(computer, { service, session, passkeys })
      }

      const first = await approvedSession(service, person)
      const { device } = await moveDevice(operator, person.deviceId, 'block')
      const blocked = await prove(first)
      for (let failures = 1; failures < MAX_FAILED_BROWSER_PROOFS; failures++) await prove(first)
      await moveDevice(operator, person.deviceId, 'unblock')
      const counted = await prove(first)
      const session = await approvedSession(service, person)
      await changeSubject(operator, device.subjectId, 'block')
      const subject = await prove(session)
      await changeSubject(operator, device.subjectId, 'unblock')
      clock.advance(EVIDENCE_AND_MORE_MS)
      const expired = await prove(session)

      await using bank = await stage.openBank(service, {
        mode: 'with',
        accounts: { victim: person.subjectRef },
      })
      await using thief = await stage.computer()
      const tab = await visitBank(thief, bank, { as: 'victim' })
      const bonded = await tab.bond()
      await phone.approve(bonded)
      await thief.addPasskeys(await phone.copyPasskeys())
      const outcome = await tab.finish()
      if (outcome !== 'bonded') throw new Error(`the user could not confirm: ${outcome}`)
      const last = await approvedSession(service, person)
      await moveDevice(operator, person.deviceId, 'remove')
      const removed = await prove(last)
      const form = await tab.submit(bonded)
      return [
        { name: 'device blocked', ended: blocked, stoppedBy: 'device_blocked' },
        { name: 'unblocked after eight failures', ended: counted, stoppedBy: 'session_not_live' },
        { name: 'user blocked', ended: subject, stoppedBy: 'subject_blocked' },
        { name: 'evidence expired', ended: expired, stoppedBy: 'session_not_live' },
        { name: 'device removed', ended: removed, stoppedBy: 'device_removed' },
        { name: 'form of a removed device', ended: form, stoppedBy: 'verification_missing' },
      ]
    },
  },
]
