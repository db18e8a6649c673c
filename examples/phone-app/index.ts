import { registerRootComponent } from 'expo'
import { Root } from './src/screens/Root.tsx'

registerRootComponent(Root)
