// The chunk streams of the model.
import { closeGate, play, wait } from './functions.mjs'

/**
 * A stream that follows a script, item by item as it is pulled, and from a gate on the suite.
 * Written by hand: a generator would hide that its consumer leaves while a pull is pending.
 */
export function openStream(call, script, prefix = '') {
  const { world } = call
  const held = [] // deliveries that nobody has pulled yet
  let waiting // the pull that waits for a delivery
  let pulls = 0
  let gate
  let ended = false

  const end = () => {
    ended = true
    call.unfollow?.()
    return { done: true, value: undefined }
  }
  const deliver = (delivery) => {
    if (waiting === undefined) held.push(delivery)
    else waiting(delivery())
    waiting = undefined
  }
  const suite = {
    give: (value) => deliver(() => ({ done: false, value })),
    finish: () => deliver(end),
    fail: (reason) => deliver(async () => {
      end()
      throw reason
    }),
  }
  const actions = play(call, script, prefix, suite)

  const pullGate = () => {
    if (world.gates.has(gate.id)) world.row({ on: 'pull', gate: gate.id, n: ++pulls })
    return held.length > 0 ? held.shift()() : new Promise((resolve) => { waiting = resolve })
  }
  const isItem = (value) => value !== undefined && (value.stream === suite || 'chunk' in value)
  const pullScript = async () => {
    try {
      const { done, value } = await wait(actions, actions.next(), isItem)
      if (done) return end()
      if ('chunk' in value) return { done: false, value: value.chunk }
      gate = value
    } catch (error) {
      end()
      world.faultOrThrow(error)
      return end()
    }
    return pullGate()
  }

  if (script[0]?.do === 'gate') gate = actions.next().value
  return {
    [Symbol.asyncIterator]() { return this },
    next: async () => (ended ? end() : gate === undefined ? pullScript() : pullGate()),
    return: async () => {
      if (ended) return end()
      end()
      if (gate !== undefined) closeGate(gate, 'left')
      waiting?.({ done: true, value: undefined })
      await call.kind.leave?.(call.fields)
      return end()
    },
  }
}
