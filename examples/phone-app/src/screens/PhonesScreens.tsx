import type { ListedKey } from '@bonded/phone'
import { StyleSheet, View } from 'react-native'
import { en } from '../messages.ts'
import type { Choice, Screen } from '../session/screen.ts'
import { Button, Heading, Lead, Note, Page, Strong, useColors, Warning } from './ui.tsx'

/** The keys of the user, so that one of a lost phone or of an attacker can be removed. */
export function PhonesScreen({
  screen: { keys, notice },
  choose,
  onSelect,
}: {
  screen: Extract<Screen, { name: 'phones' }>
  choose: (choice: Choice) => void
  onSelect: (key: ListedKey) => void
}) {
  const text = en.phones
  const { line } = useColors()
  return (
    <Page actions={<Button label={en.done} tone="plain" onPress={() => choose('home')} />}>
      <Heading>{text.title}</Heading>
      <Lead>{text.body}</Lead>
      {notice === null ? null : <Warning>{en.notices[notice]}</Warning>}
      {keys.map((key) => (
        <View key={key.device_id} style={[styles.key, { borderColor: line }]}>
          <View accessible style={styles.name}>
            <Strong>{nameOf(key)}</Strong>
            <Note>{text.registered(new Date(key.created_at).toLocaleDateString())}</Note>
            {hasBrowserKey(key) ? <Note>{text.browserKey}</Note> : null}
          </View>
          <Button label={text.remove} tone="plain" onPress={() => onSelect(key)} />
        </View>
      ))}
    </Page>
  )
}

export function RemovalScreen({
  screen: { key, also },
  choose,
}: {
  screen: Extract<Screen, { name: 'removal' }>
  choose: (choice: Choice) => void
}) {
  const text = en.removal
  return (
    <Page
      actions={
        <>
          <Button label={text.action} tone="stop" onPress={() => choose('remove_phone')} />
          {hasBrowserKey(key) ? (
            <Button
              label={en.phones.removeBrowserKey}
              tone="plain"
              onPress={() => choose('remove_browser_key')}
            />
          ) : null}
          <Button label={en.cancel} tone="plain" onPress={() => choose('phones')} />
        </>
      }
    >
      <Heading>{text.title}</Heading>
      <Strong>{nameOf(key)}</Strong>
      <Lead>{key.own ? text.own : text.other}</Lead>
      {also.length === 0 ? null : (
        <Lead>
          {text.also(
            also
              .map((other) => `${nameOf(other)}, ${en.phones.registered(other.created_at)}`)
              .join('; '),
          )}
        </Lead>
      )}
    </Page>
  )
}

function hasBrowserKey({ browser_key }: ListedKey): boolean {
  return browser_key !== null
}

function nameOf({ own, format }: ListedKey): string {
  const { formats } = en.phones
  const name = Object.hasOwn(formats, format) ? (formats[format] ?? format) : format
  return own ? `${name} (${en.phones.own})` : name
}

const styles = StyleSheet.create({
  key: {
    borderWidth: 1,
    borderRadius: 14,
    paddingHorizontal: 14,
    paddingVertical: 10,
    flexDirection: 'row',
    alignItems: 'center',
  },
  name: { flex: 1 },
})
