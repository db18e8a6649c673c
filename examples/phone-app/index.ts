import { registerRootComponent } from 'expo'
import { installPolyfills } from './src/native/polyfills.ts'
import { Root } from './src/screens/Root.tsx'

installPolyfills()
registerRootComponent(Root)
