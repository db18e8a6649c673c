import { purposeOf, type ShownRequest } from '@bonded/phone'
import { useEffect, useState } from 'react'
import { AppState, View } from 'react-native'
import { en } from '../messages.ts'
import type { Choice, Screen } from '../session/screen.ts'
import { Button, Heading, Lines, Note, Page, Pairs, Strong, Warning } from './ui.tsx'

const text = en.request

/**
 * A link can replace the request at any moment, also just before a tap that was meant for another
 * one. Longer than a tap takes.
 */
const APPROVABLE_AFTER_MS = 1_000
/** How long the end of a text is in view before Approve acts. */
const TEXT_END_MS = 1_000

/**
 * The request: who asks, from which page, what exactly. Requester, page and warning come before the
 * pairs, because no pair has a meaning without them. Approve is the one primary action. It takes no tap
 * before all of the request has been in view, in the first second, and in the first second after
 * the app comes back.
 */
export function RequestScreen({
  screen: { request, notice },
  choose,
}: {
  screen: Extract<Screen, { name: 'request' }>
  choose: (choice: Choice) => void
}) {
  const [isSettled, setSettled] = useState(false)
  const [isRead, setRead] = useState(false)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const restart = () => {
      clearTimeout(timer)
      setSettled(false)
      timer = setTimeout(() => setSettled(true), APPROVABLE_AFTER_MS)
    }
    restart()
    const watching = AppState.addEventListener('change', restart)
    return () => {
      clearTimeout(timer)
      watching.remove()
    }
  }, [])
  const purpose = purposeOf(request, ['en'])
  const rows = [
    ...request.display,
    ...(purpose === null ? [] : [{ label: text.purpose, value: purpose }]),
  ]
  return (
    <Page
      actionsAfterContent
      onRead={() => setRead(true)}
      endMs={request.text === null ? 0 : TEXT_END_MS}
      actions={
        <>
          <Button
            label={text.approve}
            disabled={!(isSettled && isRead)}
            hint={isRead ? undefined : text.readAll}
            onPress={() => choose('approve')}
          />
          <Button label={text.report} tone="plain" onPress={() => choose('report')} />
          <Button label={text.decline} tone="plain" onPress={() => choose('decline')} />
          <TimeLeft milliseconds={request.expires_in_ms} />
        </>
      }
    >
      <Heading>{text.title(request.tenant_name)}</Heading>
      {notice === null ? null : <Warning>{en.notices[notice]}</Warning>}
      {request.requester === null ? null : (
        <View accessible>
          <Note>{text.requester}</Note>
          <Strong>{request.requester.name}</Strong>
          {request.requester.detail === null ? null : <Note>{request.requester.detail}</Note>}
          <Note>{text.requesterNote(request.requester.kind, request.tenant_name)}</Note>
        </View>
      )}
      <View accessible>
        <Note>{text.page}</Note>
        <Strong>{request.requesting_origin ?? text.pageUnknown}</Strong>
        {request.requesting_origin === null ? null : <Note>{text.pageNote}</Note>}
      </View>
      <Rule quorum={request.quorum} />
      <Strong>{request.requesting_origin === null ? text.questionNoPage : text.question}</Strong>
      <Pairs rows={rows} />
      {request.text === null ? null : <Lines text={request.text} />}
    </Page>
  )
}

/** How many people must approve, where several are asked. */
function Rule({ quorum }: Pick<ShownRequest, 'quorum'>) {
  return quorum === null ? null : <Strong>{text.quorum(quorum.needed, quorum.of)}</Strong>
}

function TimeLeft({ milliseconds }: { milliseconds: number }) {
  const [endsAt] = useState(() => performance.now() + milliseconds)
  const [left, setLeft] = useState(milliseconds)
  useEffect(() => {
    const timer = setInterval(() => setLeft(Math.max(0, endsAt - performance.now())), 1_000)
    return () => clearInterval(timer)
  }, [endsAt])
  const seconds = Math.ceil(left / 1_000)
  const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
  return <Note>{text.timeLeft(time)}</Note>
}
