import { createReading, textRuns } from '@bonded/phone'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import {
  AccessibilityInfo,
  ActivityIndicator,
  Platform,
  Pressable,
  ScrollView,
  StyleSheet,
  Text,
  useColorScheme,
  View,
} from 'react-native'
import { useSafeAreaInsets } from 'react-native-safe-area-context'

/** The colors of the phone page. Each pair of text and ground has a contrast of 4.5 or more. */
const LIGHT = {
  surface: '#ffffff',
  ink: '#15202b',
  muted: '#51606f',
  line: '#d8dee6',
  accent: '#0b57d0',
  onAccent: '#ffffff',
  stop: '#b3261e',
  onStop: '#ffffff',
  good: '#11692f',
  warn: '#8a4b00',
  notice: '#fdf1de',
}
const DARK: typeof LIGHT = {
  surface: '#12181f',
  ink: '#e9eef3',
  muted: '#a8b4c1',
  line: '#37424e',
  accent: '#8ab4f8',
  onAccent: '#0c1a30',
  stop: '#f2a7a0',
  onStop: '#3a0d0a',
  good: '#81c995',
  warn: '#f5c26b',
  notice: '#392d17',
}

export function useColors(): typeof LIGHT {
  return useColorScheme() === 'dark' ? DARK : LIGHT
}

interface PageProps {
  readonly children: ReactNode
  readonly actions?: ReactNode
  /** The actions come after the content, so that a user scrolls past all of it to reach them. */
  readonly actionsAfterContent?: boolean
  /** Called once all of the content has been in view. */
  readonly onRead?: () => void
  /** How long the end of the content is in view before that. */
  readonly endMs?: number
}

/** A screen: content that scrolls, and its actions at the bottom. */
export function Page({
  children,
  actions,
  actionsAfterContent = false,
  onRead,
  endMs = 0,
}: PageProps) {
  const colors = useColors()
  const view = useReading(onRead, endMs)
  const insets = useSafeAreaInsets()
  const footer = (
    <View style={[styles.actions, { paddingBottom: Math.max(insets.bottom, 20) }]}>{actions}</View>
  )
  return (
    <View style={[styles.page, { backgroundColor: colors.surface, paddingTop: insets.top }]}>
      <ScrollView
        contentContainerStyle={styles.scrolled}
        scrollEventThrottle={16}
        onScroll={({ nativeEvent }) => view.scroll(nativeEvent.contentOffset.y)}
        onLayout={({ nativeEvent }) => view.resize(nativeEvent.layout.height)}
      >
        <View
          style={styles.content}
          onLayout={({ nativeEvent }) => view.measure(nativeEvent.layout.height)}
        >
          {children}
        </View>
        {actionsAfterContent ? footer : null}
      </ScrollView>
      {actionsAfterContent ? null : footer}
    </View>
  )
}

/** Follows which part of the content has been in view, by the layout and each scrolling. */
function useReading(onRead: (() => void) | undefined, endMs: number) {
  const [reading] = useState(() => createReading(1))
  const place = useRef({ top: 0, view: 0, content: 0 })
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const see = (change: Partial<{ top: number; view: number; content: number }>) => {
    const { top, view, content } = (place.current = { ...place.current, ...change })
    // The layout of the view and that of the content are reported one after the other.
    if (view === 0 || content === 0) return
    reading.see(0, (top - 1) / content, (top + view + 1) / content)
    const isAtEnd = reading.next() === undefined && (endMs === 0 || top + view + 1 >= content)
    if (isAtEnd) timer.current ??= setTimeout(() => onRead?.(), endMs)
    else {
      clearTimeout(timer.current)
      timer.current = undefined
    }
  }
  return {
    scroll: (top: number) => see({ top }),
    resize: (view: number) => see({ view }),
    measure: (content: number) => see({ content }),
  }
}

/** The app is busy. */
export function Spinner() {
  return <ActivityIndicator size="large" color={useColors().accent} style={styles.spinner} />
}

/** The heading of a screen. Screen readers move to it when the screen appears. */
export function Heading({ children }: { children: string }) {
  const colors = useColors()
  const heading = useRef<Text>(null)
  useEffect(() => {
    if (heading.current !== null) AccessibilityInfo.sendAccessibilityEvent(heading.current, 'focus')
  }, [children])
  return (
    <Text ref={heading} accessibilityRole="header" style={[styles.heading, { color: colors.ink }]}>
      {children}
    </Text>
  )
}

export function Lead({ children }: { children: string }) {
  return <Text style={[styles.text, { color: useColors().muted }]}>{children}</Text>
}

export function Strong({ children }: { children: string }) {
  return <Text style={[styles.strong, { color: useColors().ink }]}>{children}</Text>
}

export function Note({ children }: { children: string }) {
  return <Text style={[styles.note, { color: useColors().muted }]}>{children}</Text>
}

/** What just went wrong. Screen readers announce it at once. */
export function Warning({ children }: { children: string }) {
  const { notice, warn, ink } = useColors()
  return (
    <View
      accessibilityRole="alert"
      accessibilityLiveRegion="assertive"
      style={[styles.notice, { backgroundColor: notice, borderColor: warn }]}
    >
      <Text style={[styles.text, { color: ink }]}>{children}</Text>
    </View>
  )
}

interface ButtonProps {
  readonly label: string
  readonly onPress: () => void
  /** `plain` has no ground. Default: `accent`. */
  readonly tone?: 'accent' | 'stop' | 'plain'
  readonly disabled?: boolean
  /** What a screen reader says after the label. */
  readonly hint?: string | undefined
}

export function Button({ label, onPress, tone = 'accent', disabled = false, hint }: ButtonProps) {
  const colors = useColors()
  const look = {
    accent: { ground: colors.accent, text: colors.onAccent },
    stop: { ground: colors.stop, text: colors.onStop },
    plain: { ground: 'transparent', text: colors.accent },
  }[tone]
  return (
    <Pressable
      accessibilityRole="button"
      accessibilityState={{ disabled }}
      accessibilityHint={hint}
      disabled={disabled}
      onPress={onPress}
      style={({ pressed }) => [
        styles.button,
        { backgroundColor: look.ground, opacity: disabled ? 0.55 : pressed ? 0.8 : 1 },
      ]}
    >
      <Text style={[styles.buttonText, { color: look.text }]}>{label}</Text>
    </Pressable>
  )
}

/** Rows of a label and a value, such as the request's context: a dense list. */
export function Pairs({
  rows,
}: {
  rows: readonly { readonly label: string; readonly value: string }[]
}) {
  const colors = useColors()
  return (
    <View style={[styles.pairs, { borderColor: colors.line }]}>
      {rows.map(({ label, value }, index) => (
        <View
          key={label}
          accessible
          style={[
            styles.pair,
            index === 0 ? null : { borderTopWidth: 1, borderTopColor: colors.line },
          ]}
        >
          <Note>{label}</Note>
          {/* A box of its own, which no value can leave to imitate a row. */}
          <View style={[styles.valueBox, { borderColor: colors.line }]}>
            <Text style={[styles.value, { color: colors.ink }]}>{value}</Text>
          </View>
        </View>
      ))}
    </View>
  )
}

/** A text, verbatim: each line has its number and wraps, from left to right. */
export function Lines({ text }: { text: string }) {
  const colors = useColors()
  return (
    <View style={[styles.lines, { borderColor: colors.line }]}>
      {text.split('\n').map((line, index) => (
        <View key={index} accessible style={styles.line}>
          <Text style={[styles.code, styles.number, { color: colors.muted }]}>{index + 1}</Text>
          <Text style={[styles.code, styles.lineText, { color: colors.ink }]}>
            {LEFT_TO_RIGHT}
            {textRuns(line).map((run, part) => (part % 2 === 0 ? run : `${ISOLATE}${run}${END}`))}
          </Text>
        </View>
      ))}
    </View>
  )
}

/** Android sets the direction of a text by its first strong character outside of isolates. */
const LEFT_TO_RIGHT = '\u200e'
const ISOLATE = '\u2068'
const END = '\u2069'

export type Tone = 'accent' | 'good' | 'warn' | 'stop' | 'muted'

/** A decorative symbol in a circle. The heading says the same in words. */
export function Symbol({ glyph, tone }: { glyph: string; tone: Tone }) {
  const color = useColors()[tone]
  return (
    <View
      accessibilityElementsHidden
      importantForAccessibility="no-hide-descendants"
      style={[styles.symbol, { backgroundColor: `${color}24` }]}
    >
      <Text allowFontScaling={false} style={[styles.glyph, { color }]}>
        {glyph}
      </Text>
    </View>
  )
}

const styles = StyleSheet.create({
  page: { flex: 1 },
  scrolled: { flexGrow: 1, justifyContent: 'space-between' },
  content: { padding: 20, paddingTop: 24, gap: 16 },
  spinner: { alignSelf: 'flex-start' },
  actions: { paddingHorizontal: 20, paddingTop: 8, gap: 10 },
  heading: { fontSize: 24, lineHeight: 30, fontWeight: '700' },
  text: { fontSize: 17, lineHeight: 25 },
  strong: { fontSize: 17, lineHeight: 25, fontWeight: '600' },
  note: { fontSize: 14, lineHeight: 20 },
  notice: { padding: 14, borderRadius: 12, borderWidth: 1 },
  button: {
    minHeight: 52,
    paddingHorizontal: 16,
    paddingVertical: 12,
    borderRadius: 12,
    justifyContent: 'center',
  },
  buttonText: { fontSize: 17, fontWeight: '600', textAlign: 'center' },
  pairs: { borderWidth: 1, borderRadius: 14, overflow: 'hidden' },
  pair: { paddingHorizontal: 12, paddingVertical: 6 },
  valueBox: { borderLeftWidth: 3, paddingLeft: 10, overflow: 'hidden' },
  value: { fontSize: 17, lineHeight: 23, fontWeight: '600' },
  lines: { borderWidth: 1, borderRadius: 14, paddingVertical: 4 },
  line: { flexDirection: 'row', direction: 'ltr', gap: 8, paddingHorizontal: 8 },
  code: {
    fontFamily: Platform.select({ ios: 'Menlo', default: 'monospace' }),
    fontSize: 13,
    lineHeight: 18,
    writingDirection: 'ltr',
  },
  number: { minWidth: 24, textAlign: 'right' },
  lineText: { flex: 1, textAlign: 'left' },
  symbol: {
    width: 72,
    height: 72,
    borderRadius: 36,
    alignItems: 'center',
    justifyContent: 'center',
  },
  glyph: { fontSize: 34, fontWeight: '600' },
})
