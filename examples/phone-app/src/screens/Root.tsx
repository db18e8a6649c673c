import { useEffect, useState } from 'react'
import { Linking, StyleSheet, View } from 'react-native'
import { SafeAreaProvider } from 'react-native-safe-area-context'
import { createDependencies } from '../native/platform.ts'
import { type App, startApp } from '../session/app.ts'
import type { Screen } from '../session/screen.ts'
import { ScreenView } from './ScreenView.tsx'

/** The app: one phone, the screen that it shows, and the links that open it. */
export function Root() {
  const [dependencies] = useState(createDependencies)
  const [screen, show] = useState<Screen>({ name: 'loading' })
  const [app, setApp] = useState<App>()
  const { motion } = dependencies

  useEffect(() => {
    const started = startApp({ ...dependencies, show })
    setApp(started)
    motion.start().catch(() => {
      // Without motion, the app approves all the same. A policy that requires it says so.
    })
    const open = (url: string | null) => {
      if (url !== null) started.open(url)
    }
    void Linking.getInitialURL().then(open)
    const links = Linking.addEventListener('url', ({ url }) => open(url))
    return () => links.remove()
  }, [dependencies, motion])

  return (
    <SafeAreaProvider>
      <View style={styles.root} onTouchStart={() => motion.touched()}>
        <ScreenView
          key={screen.name}
          screen={screen}
          choose={(choice) => app?.choose(choice)}
          onScan={(text) => app?.open(text)}
          onSelect={(key) => app?.select(key)}
        />
      </View>
    </SafeAreaProvider>
  )
}

const styles = StyleSheet.create({ root: { flex: 1 } })
