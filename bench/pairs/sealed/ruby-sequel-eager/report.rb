# Prints who wrote which album, as a page of a shop would show it.
require "sequel"

DB = Sequel.connect("postgres://postgres@127.0.0.1:#{ENV["PORT"]}/postgres")
DB.create_table(:artists) { primary_key :id; String :name }
DB.create_table(:albums) { primary_key :id; foreign_key :artist_id, :artists; String :name }
COUNT = 8000
DB[:artists].import([:name], (1..COUNT).map { |n| ["artist #{n}"] })
DB[:albums].import([:artist_id, :name], (1..COUNT).map { |n| [n, "album #{n}"] })

class Artist < Sequel::Model
  one_to_many :albums
end

class Album < Sequel::Model
  many_to_one :artist
end

albums = ARGV[0] == "eager" ? Album.eager(:artist) : Album.dataset
albums.all { |album| puts "#{album.name}: #{album.artist.name}" }
