from turnwire.session.encoding import Options as Options, encode as encode
from turnwire.session.header import prompt as prompt
from turnwire.session.reading import Reader as Reader, decode as decode, lines_of as lines_of
from turnwire.session.salvaging import Part as Part, Salvage as Salvage, salvage as salvage, seal as seal
from turnwire.session.streaming import Writer as Writer
