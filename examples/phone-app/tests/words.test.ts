import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inboxEn as page } from '../../../packages/phone-page/src/inbox/messages.ts'
import { en } from '../src/messages.ts'

const TENANT = '{tenant}'

test('the app uses the words of the phone page where both show the same', () => {
  const words: Readonly<Record<string, string>> = page
  const { request, stepUp } = en
  const same: Record<string, string> = {
    'page.title': en.appTitle,
    'setup.title': en.setup.title,
    'setup.again': en.setUpAgain,
    'request.title': request.title(TENANT),
    'request.details': request.details,
    'request.purpose': request.purpose,
    'request.page': request.page,
    'request.page.unknown': request.pageUnknown,
    'request.page.note': request.pageNote,
    'request.requester': request.requester,
    'request.requester.note': request.requesterNote('', TENANT),
    'request.question': request.question,
    'request.question.no_page': request.questionNoPage,
    'inbox.quorum': request.quorum('{needed}' as never, '{of}' as never),
    'request.read_all': request.readAll,
    'completed.title': en.completed.accepted.title,
    'completed.received.title': en.completed.in_review.title,
    'request.time': request.timeLeft('{time}'),
    'action.approve': request.approve,
    'action.report': request.report,
    'action.decline': request.decline,
    'action.continue': stepUp.action,
    'action.retry': en.retry,
    'step_up.verify.title': stepUp.verifyAgain.title,
    'step_up.verify.body': stepUp.verifyAgain.body,
    'step_up.motion.title': stepUp.motion.title,
    'step_up.motion.body': stepUp.motion.body,
    'browser.title': en.awaitingBrowser.title,
    'browser.body': en.awaitingBrowser.body(TENANT),
    'browser.same_phone': en.awaitingBrowser.samePhone,
    'problem.reference': en.reference('{id}'),
  }
  same['notice.not_verified_by_user'] = en.notices.not_verified_by_user
  const { unreported, decided, ...ends } = en.ends
  assert.equal(decided.title, en.problems.session_over.title)
  same['inbox.decided'] = decided.body(TENANT)
  same['approved.title'] = unreported.title
  same['unreported.body'] = unreported.body(TENANT)
  for (const [end, { title, body }] of Object.entries(ends)) {
    same[`end.${end}.title`] = title
    same[`end.${end}.body`] = body(TENANT)
  }
  for (const [problem, { title, body }] of Object.entries(en.problems)) {
    // The others are of the app only, or advise its user to do something else.
    if (words[`problem.${problem}.title`] === undefined || problem === 'phone_not_accepted')
      continue
    same[`problem.${problem}.title`] = title
    same[`problem.${problem}.body`] = body
  }
  assert.ok(Object.keys(same).length > 45)
  for (const [key, text] of Object.entries(same)) assert.equal(text, words[key], key)
})
