import { CameraView, useCameraPermissions } from 'expo-camera'
import { useRef } from 'react'
import { Linking, StyleSheet, View } from 'react-native'
import { en } from '../messages.ts'
import type { Choice } from '../session/screen.ts'
import { Button, Heading, Lead, Page, Warning } from './ui.tsx'

const text = en.scanner

/**
 * Scans the QR code of a request. Each text is reported once, however often the camera reads it.
 */
export function ScannerScreen({
  isUnreadable,
  onScan,
  choose,
}: {
  isUnreadable: boolean
  onScan: (text: string) => void
  choose: (choice: Choice) => void
}) {
  const [permission, askForPermission] = useCameraPermissions()
  const reported = useRef<string>(undefined)
  const cancel = <Button label={en.cancel} tone="plain" onPress={() => choose('home')} />
  if (permission === null) return <Page actions={cancel}>{null}</Page>
  if (!permission.granted)
    return (
      <Page
        actions={
          <>
            {permission.canAskAgain ? (
              <Button label={text.allow} onPress={() => void askForPermission()} />
            ) : (
              <Button label={text.settings} onPress={() => void Linking.openSettings()} />
            )}
            {cancel}
          </>
        }
      >
        <Heading>{text.title}</Heading>
        <Lead>{text.permission}</Lead>
      </Page>
    )
  return (
    <Page actions={cancel}>
      <Heading>{text.title}</Heading>
      {isUnreadable ? <Warning>{text.unreadable}</Warning> : <Lead>{text.body}</Lead>}
      <View style={styles.frame}>
        <CameraView
          style={StyleSheet.absoluteFill}
          facing="back"
          barcodeScannerSettings={{ barcodeTypes: ['qr'] }}
          onBarcodeScanned={({ data }) => {
            if (reported.current === data) return
            reported.current = data
            onScan(data)
          }}
        />
      </View>
    </Page>
  )
}

const styles = StyleSheet.create({
  frame: { width: '100%', aspectRatio: 1, borderRadius: 14, overflow: 'hidden' },
})
