import type { ListedKey } from '@bonded/phone'
import { en } from '../messages.ts'
import type { ProblemKind } from '../session/problem.ts'
import type { Choice, End, Screen, StepUpStep } from '../session/screen.ts'
import { PhonesScreen, RemovalScreen } from './PhonesScreens.tsx'
import { RequestScreen } from './RequestScreen.tsx'
import { ScannerScreen } from './ScannerScreen.tsx'
import {
  Button,
  Heading,
  Lead,
  Note,
  Page,
  Pairs,
  Spinner,
  Symbol,
  type Tone,
  Warning,
} from './ui.tsx'

interface ScreenViewProps {
  readonly screen: Screen
  readonly choose: (choice: Choice) => void
  readonly onScan: (text: string) => void
  readonly onSelect: (key: ListedKey) => void
}

/** Draws one screen. */
// oxlint-disable-next-line max-lines-per-function -- a switch: one case for each screen
export function ScreenView({ screen, choose, onScan, onSelect }: ScreenViewProps) {
  const done = <Button label={en.done} tone="plain" onPress={() => choose('home')} />
  switch (screen.name) {
    case 'loading':
      return (
        <Page>
          <Spinner />
        </Page>
      )
    case 'setup': {
      const { title, body, points, action } = en.setup
      return (
        <Page actions={<Button label={action} onPress={() => choose('set_up')} />}>
          <Symbol glyph="✓" tone="accent" />
          <Heading>{title}</Heading>
          <Lead>{body}</Lead>
          {points.map((point) => (
            <Lead key={point}>{`•  ${point}`}</Lead>
          ))}
          {screen.hasRequest ? <Note>{en.waitingRequest}</Note> : null}
        </Page>
      )
    }
    case 'home': {
      const { title, body, scan, phones } = en.home
      return (
        <Page
          actions={
            <>
              <Button label={scan} onPress={() => choose('scan')} />
              <Button label={phones} tone="plain" onPress={() => choose('phones')} />
            </>
          }
        >
          <Symbol glyph="✓" tone="good" />
          <Heading>{title}</Heading>
          <Lead>{body}</Lead>
        </Page>
      )
    }
    case 'scanner':
      return <ScannerScreen isUnreadable={screen.isUnreadable} onScan={onScan} choose={choose} />
    case 'request':
      return <RequestScreen screen={screen} choose={choose} />
    case 'step_up':
      return <StepUp step={screen.step} choose={choose} />
    case 'awaiting_browser': {
      const { title, body, samePhone } = en.awaitingBrowser
      return (
        <Page
          actions={
            <>
              <Button label={en.request.report} tone="stop" onPress={() => choose('report')} />
              <Button label={en.request.decline} tone="plain" onPress={() => choose('decline')} />
            </>
          }
        >
          <Symbol glyph="→" tone="accent" />
          <Heading>{title}</Heading>
          <Lead>{body(screen.request.tenant_name)}</Lead>
          {screen.notice === null ? null : <Warning>{en.problems.offline.body}</Warning>}
          <Note>{samePhone}</Note>
          <Pairs rows={screen.request.display} />
        </Page>
      )
    }
    case 'working':
      return (
        <Page>
          <Spinner />
          <Heading>{en.tasks[screen.task]}</Heading>
          {screen.request === null ? null : <Pairs rows={screen.request.display} />}
        </Page>
      )
    case 'approved':
    case 'completed': {
      // Without a word a completion is success. An outcome of a newer service claims none.
      const isDone = screen.name === 'completed' && (screen.outcome ?? 'accepted') === 'accepted'
      const outcome = screen.name !== 'completed' ? null : isDone ? 'accepted' : 'in_review'
      const { title, body } = outcome === null ? en.approved : en.completed[outcome]
      const { quorum, tenant_name } = screen.request
      // Others must approve too, before the organization acts.
      const isOneOfSeveral = outcome === null && quorum !== null
      return (
        <Page actions={done}>
          <Symbol glyph="✓" tone={outcome === 'in_review' ? 'muted' : 'good'} />
          <Heading>{title}</Heading>
          <Lead>
            {isOneOfSeveral ? en.request.quorum(quorum.needed, quorum.of) : body(tenant_name)}
          </Lead>
          <Pairs rows={screen.request.display} />
        </Page>
      )
    }
    case 'ended': {
      const { title, body } = en.ends[screen.end]
      return (
        <Page actions={done}>
          <Symbol {...SYMBOL_OF_END[screen.end]} />
          <Heading>{title}</Heading>
          <Lead>{body(screen.tenant)}</Lead>
        </Page>
      )
    }
    case 'phones':
      return <PhonesScreen screen={screen} choose={choose} onSelect={onSelect} />
    case 'removal':
      return <RemovalScreen screen={screen} choose={choose} />
    case 'problem':
      return <Problem screen={screen} choose={choose} />
  }
}

function StepUp({ step, choose }: { step: StepUpStep; choose: ScreenViewProps['choose'] }) {
  const { stepUp } = en
  const { title, body } = step.kind === 'motion' ? stepUp.motion : stepUp.verifyAgain
  const isRecording = step.kind === 'motion' && step.seconds < step.neededSeconds
  return (
    <Page
      actions={
        <>
          <Button
            label={stepUp.action}
            disabled={isRecording}
            onPress={() => choose('continue_step_up')}
          />
          <Note>{stepUp.attemptsLeft(step.attemptsLeft)}</Note>
        </>
      }
    >
      <Symbol glyph="↻" tone="accent" />
      <Heading>{title}</Heading>
      <Lead>{body}</Lead>
      {step.kind === 'motion' ? (
        <Note>{stepUp.recorded(step.seconds, step.neededSeconds)}</Note>
      ) : null}
    </Page>
  )
}

function Problem({
  screen: { problem, requestId },
  choose,
}: {
  screen: Extract<Screen, { name: 'problem' }>
  choose: ScreenViewProps['choose']
}) {
  const { title, body } = en.problems[problem]
  return (
    <Page
      actions={
        <>
          {CAN_RETRY.has(problem) ? (
            <Button label={en.retry} onPress={() => choose('retry')} />
          ) : null}
          {CAN_SET_UP_AGAIN.has(problem) ? (
            <Button label={en.setUpAgain} onPress={() => choose('set_up_again')} />
          ) : null}
          <Button label={en.done} tone="plain" onPress={() => choose('home')} />
        </>
      }
    >
      <Symbol glyph="!" tone="warn" />
      <Heading>{title}</Heading>
      <Lead>{body}</Lead>
      {requestId === null ? null : <Note>{en.reference(requestId)}</Note>}
    </Page>
  )
}

const SYMBOL_OF_END: Readonly<Record<End, { glyph: string; tone: Tone }>> = {
  declined: { glyph: '×', tone: 'muted' },
  reported: { glyph: '!', tone: 'stop' },
  expired: { glyph: '–', tone: 'muted' },
  unreported: { glyph: '–', tone: 'muted' },
  canceled: { glyph: '×', tone: 'muted' },
  decided: { glyph: '–', tone: 'muted' },
  suspended: { glyph: '!', tone: 'warn' },
  not_verified: { glyph: '!', tone: 'warn' },
}
const CAN_RETRY: ReadonlySet<ProblemKind> = new Set([
  'screen_lock_missing',
  'not_verified',
  'offline',
  'busy',
  'unexpected',
])
const CAN_SET_UP_AGAIN: ReadonlySet<ProblemKind> = new Set(['phone_unknown'])
