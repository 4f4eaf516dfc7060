// Talks to an engine as Sabaki does, with the package that Sabaki talks through.
// Usage: node sabaki_client.cjs COMMAND ARGUMENT...; prints one JSON object of what happened.
const {Command, Controller, ControllerStateTracker} = require('@sabaki/gtp')

const QUIT_TIMEOUT = 60000

const controller = new Controller(process.argv[2], process.argv.slice(3))
const tracker = new ControllerStateTracker(controller)
const sent = []
controller.on('command-sent', ({command}) => sent.push([command.name, ...(command.args || [])].join(' ')))

const send = (name, ...args) => controller.sendCommand({name, args})
const play = (color, vertex) => ({name: 'play', args: [color, vertex]})

async function analyze() {
  // Sabaki ends an analysis by asking something else once it has seen enough.
  const lines = []
  const command = Command.fromString('kata-analyze B 5')
  const reply = controller.sendCommand(command, ({line}) => {
    lines.push(line)
    if (lines.filter((one) => one.startsWith('info ')).length === 1) send('protocol_version')
  })
  await reply
  return lines.filter((line) => line.startsWith('info '))
}

async function genmove() {
  const lines = []
  const command = Command.fromString('kata-genmove_analyze B 5')
  await controller.sendCommand(command, ({line}) => lines.push(line))
  return lines
}

async function main() {
  const found = {}
  controller.start()
  const hello = await Promise.all(
    ['name', 'version', 'protocol_version', 'list_commands'].map((name) => send(name)),
  )
  found.hello = hello.map(({content, error}) => ({content, error}))
  const opening = [play('B', 'D4'), play('W', 'E5'), play('B', 'pass'), play('W', 'C3')]
  await tracker.sync({komi: 6.5, boardsize: [9, 9], history: opening})
  const changed = [...opening.slice(0, 3), play('W', 'G7')]
  await tracker.sync({komi: 6.5, boardsize: [9, 9], history: changed})
  found.analysis = await analyze()
  found.move = await genmove()
  found.history = tracker.state.history
  found.afterwards = (await send('showboard')).content
  const stones = {name: 'set_free_handicap', args: ['A1', 'B1', 'C2']}
  await tracker.sync({komi: 0, boardsize: [5, 7], history: [stones, play('W', 'C4')]})
  found.tsumego = (await send('showboard')).content
  found.refused = (await send('play', 'B', 'C4')).error
  found.sent = sent
  await controller.stop(QUIT_TIMEOUT)
  found.state = controller.process
  console.log(JSON.stringify(found))
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
